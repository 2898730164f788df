"use strict";
// Adds copy buttons, search, sorting, filters and the drawer of a rank. The page says everything without it.
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, attributes = {}, text = "") => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };

  // --- copy --------------------------------------------------------------------------------------------------------

  async function copy(button) {
    const source = button.dataset.copyFrom ? byId(button.dataset.copyFrom) : null;
    const text = source ? source.textContent : button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
      const before = button.firstChild.data;
      button.firstChild.data = "Copied";
      setTimeout(() => { button.firstChild.data = before; }, 1200);
    } catch {
      getSelection().selectAllChildren(source || button.previousElementSibling);
    }
  }

  for (const button of all("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }

  // --- tables: sort by a column, filter rows -------------------------------------------------------------------------

  const LONG = 8;

  function key(row, column) {
    const text = row.cells[column].textContent.trim();
    const number = parseFloat(text.replace(/,/g, "").replace("−", "-").match(/-?\d[\d.]*/)?.[0]);
    return [Number.isNaN(number) ? Infinity : number, text];
  }

  function sortable(table) {
    const body = table.tBodies[0];
    all("th", table.tHead).forEach((head, column) => {
      const button = make("button", { type: "button", class: "sort" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of all("th", table.tHead)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", way === 1 ? "ascending" : "descending");
        const rows = [...body.rows].map((row) => [key(row, column), row]);
        rows.sort(([[a, x]], [[b, y]]) => way * (a === b ? x.localeCompare(y, "en") : a - b));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  function field(name, listener) {
    const label = make("label", {}, `${name} `);
    const input = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => listener(input.value.trim().toLowerCase()));
    label.append(input);
    return label;
  }

  for (const table of all("table.list")) {
    if (table.tBodies[0].rows.length < 3) continue;
    sortable(table);
    if (table.tBodies[0].rows.length <= LONG) continue;
    const line = make("p", { class: "filter" });
    line.append(field("Filter", (text) => {
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(text);
    }));
    table.parentElement.before(line);
  }

  // --- stacks ------------------------------------------------------------------------------------------------------

  const find = byId("stack-find");
  if (find) {
    find.hidden = false;
    find.append(field("Find a frame", (text) => {
      for (const chain of all(".chain")) {
        const holds = chain.querySelector(".frames").textContent.toLowerCase().includes(text);
        chain.classList.toggle("found", text !== "" && holds);
        chain.classList.toggle("missed", text !== "" && !holds);
      }
    }));
  }

  // --- ranks -------------------------------------------------------------------------------------------------------

  const grids = all(".rank-grid").map((svg) => ({
    svg,
    step: Number(svg.dataset.step),
    runs: svg.dataset.places.split(";").map((run) => run.split(",").map(Number)),
    marker: document.createElementNS("http://www.w3.org/2000/svg", "rect"),
  }));
  if (!grids.length) return;
  const drawer = byId("rank-drawer");
  const report = JSON.parse(byId("incident-json").textContent);
  const views = report.incidents[report.primary].views;
  let current = null;
  for (const { marker, step } of grids) {
    marker.setAttribute("class", "chosen");
    marker.setAttribute("width", step + 1);
    marker.setAttribute("height", step + 1);
  }

  const holds = (ranges, rank) => ranges.split(",").some((part) => {
    const [first, last] = part.split("-").map(Number);
    return part !== "" && rank >= first && rank <= (last ?? first);
  });
  const within = ([, , first, length, stride], rank) =>
    rank >= first && (rank - first) % stride === 0 && (rank - first) / stride < length;

  function describe(rank) {
    const words = [`Rank ${rank}`];
    const host = views.hosts.find((item) => holds(item.ranks, rank));
    const cell = views.grid.filter((item) => holds(item.ranks, rank)).pop();
    if (host) words[0] += ` on ${host.host}`;
    if (cell) words[0] += `: ${cell.state.replace("_", " ")}`;
    if (views.mesh.length) {
      words.push(views.mesh.map((axis) => `${axis.name} ${Math.floor(rank / axis.stride) % axis.size}`).join(", "));
    }
    for (const track of views.tracks) if (track.held && holds(track.ranks, rank)) words.push(`Waits in ${track.held}`);
    for (const stack of views.stacks) {
      if (holds(stack.ranks, rank)) words.push(`Stack: ${stack.top} (class of ${stack.count})`);
    }
    for (const row of views.collectives) {
      if (!holds(row.ranks, rank)) continue;
      words.push(`${row.group}: enqueued ${row.last_enqueued ?? "–"}, completed ${row.last_completed ?? "–"}` +
        (row.open_op ? `, in ${row.open_op}` : "") + (row.mark ? ` (${row.mark})` : ""));
    }
    return words.join("\n");
  }

  function choose(rank, scroll) {
    let found = false;
    for (const { svg, step, runs, marker } of grids) {
      const run = runs.find((one) => within(one, rank));
      if (!run) continue;
      found = true;
      marker.setAttribute("x", run[0] + (rank - run[2]) / run[4] * step - 1);
      marker.setAttribute("y", run[1] - 1);
      svg.append(marker);
    }
    drawer.hidden = false;
    drawer.textContent = found ? describe(rank) : `There is no rank ${rank}.`;
    if (!found) return;
    current = rank;
    if (scroll) byId("ranks").scrollIntoView();
  }

  function fromAddress() {
    const match = /^#rank=(\d{1,7})$/.exec(location.hash);
    if (match) choose(Number(match[1]), true);
  }

  for (const { svg, step, runs } of grids) {
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale;
      const y = (event.clientY - box.top) * scale;
      const run = runs.find(([left, top, , length]) => x >= left && x < left + length * step && y >= top && y < top + step);
      if (!run) return;
      const rank = run[2] + Math.floor((x - run[0]) / step) * run[4];
      choose(rank, false);
      history.replaceState(null, "", `#rank=${rank}`);
    });
    svg.parentElement.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move) return;
      event.preventDefault();
      choose(current === null ? runs[0][2] : current + move * runs[0][4], false);
    });
  }
  const rankFind = byId("rank-find");
  rankFind.hidden = false;
  rankFind.append(field("Find a rank", (text) => { if (/^\d{1,7}$/.test(text)) choose(Number(text), false); }));
  addEventListener("hashchange", fromAddress);
  fromAddress();
})();
