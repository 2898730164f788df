"use strict";
// Adds copy buttons, the drawer of a rank and details opened in print, but for the long lists. The page says everything without it.
(() => {
  const byId = (id) => document.getElementById(id);

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

  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }

  const toggled = [];
  addEventListener("beforeprint", () => {
    for (const item of document.querySelectorAll("main section:not(#files, #method) details:not([open])")) {
      item.open = true;
      toggled.push(item);
    }
  });
  addEventListener("afterprint", () => {
    for (const item of toggled.splice(0)) item.open = false;
  });

  const grid = byId("rank-grid");
  if (!grid) return;
  const drawer = byId("rank-drawer");
  const step = Number(grid.dataset.step);
  const places = grid.dataset.places.split(";").map((place) => place.split(",").map(Number));
  const report = JSON.parse(byId("incident-json").textContent);
  const views = report.incidents[report.primary].views;
  const marker = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  marker.setAttribute("class", "chosen");
  marker.setAttribute("width", step);
  marker.setAttribute("height", step);
  let current = null;

  const holds = (ranges, rank) => ranges.split(",").some((part) => {
    const [first, last] = part.split("-").map(Number);
    return part !== "" && rank >= first && rank <= (last ?? first);
  });

  function describe(rank) {
    const words = [`Rank ${rank}`];
    const host = views.hosts.find((item) => holds(item.ranks, rank));
    const cell = views.grid.filter((item) => holds(item.ranks, rank)).pop();
    if (host) words[0] += ` on ${host.host}`;
    if (cell) words[0] += `: ${cell.state.replace("_", " ")}`;
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
    const place = places.find(([, , first, length]) => rank >= first && rank < first + length);
    if (!place) return;
    current = rank;
    marker.setAttribute("x", place[0] + (rank - place[2]) * step - 1);
    marker.setAttribute("y", place[1] - 1);
    grid.append(marker);
    drawer.hidden = false;
    drawer.textContent = describe(rank);
    if (scroll) byId("ranks").scrollIntoView();
  }

  function fromAddress() {
    const match = /^#rank=(\d{1,7})$/.exec(location.hash);
    if (match) choose(Number(match[1]), true);
  }

  grid.addEventListener("click", (event) => {
    const box = grid.getBoundingClientRect();
    const scale = grid.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale;
    const y = (event.clientY - box.top) * scale;
    const place = places.find(([left, top, , length]) => x >= left && x < left + length * step && y >= top && y < top + step);
    if (!place) return;
    const rank = place[2] + Math.floor((x - place[0]) / step);
    choose(rank, false);
    history.replaceState(null, "", `#rank=${rank}`);
  });
  grid.parentElement.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    choose(current === null ? places[0][2] : current + move, false);
  });
  addEventListener("hashchange", fromAddress);
  fromAddress();
})();
