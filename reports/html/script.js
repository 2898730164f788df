"use strict";
// Adds copy buttons, search, sorting, filters, zoom and the drawers of ranks and classes. The page says everything without it.
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, attributes = {}, text = "") => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };
  const CHINESE = {
    "Copied": "已复制", "Filter": "筛选", "Find a frame": "查找帧", "Find ranks or a host": "查找 rank 或节点", "Whole picture": "全图", "Fit": "适应", "Zoom out": "缩小", "Zoom in": "放大",
    "Rank {0} on {1}": "rank {0}（{1}）", "Rank {0}": "rank {0}", "Ranks {0}": "rank {0}", ": {0}": "：{0}", ", ": "，",
    "Waits in {0}": "等待于 {0}", "Stack: {0} (class of {1})": "调用栈：{0}（同类 {1} 个）",
    "{0}: enqueued {1}, completed {2}": "{0}：已入队 {1}，已完成 {2}", ", in {0}": "，位于 {0}", " ({0})": "（{0}）",
    "{0} to {1}: {2}": "{0} 至 {1}：{2}", "events {0}": "事件 {0}", "not seen": "未观测", "{0} {1}": "{0} 个{1}", "There is no rank {0}.": "没有 rank {0}。",
  };
  // A sentence of this script in the language of the page; `{0}` and so on are filled in.
  const isChinese = document.documentElement.lang.startsWith("zh");
  const say = (text, ...fields) => ((isChinese && CHINESE[text]) || text).replace(/\{(\d)\}/g, (_, at) => fields[at]);
  const number = (node, name) => Number(node.getAttribute(name));
  const inside = (value, least, most) => Math.min(most, Math.max(least, value));

  // --- copy --------------------------------------------------------------------------------------------------------

  async function copy(button) {
    const source = button.dataset.copyFrom ? byId(button.dataset.copyFrom) : null;
    const text = source ? source.textContent : button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
      const before = button.firstChild.data;
      button.firstChild.data = say("Copied");
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
    const names = all("th", table.tHead).map((head) => head.textContent);
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, at) => { cell.dataset.name = names[at]; });
    table.classList.add("named");
    if (table.tBodies[0].rows.length < 3) continue;
    sortable(table);
    if (table.tBodies[0].rows.length <= LONG) continue;
    const line = make("p", { class: "filter" });
    line.append(field(say("Filter"), (text) => {
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(text);
    }));
    table.parentElement.before(line);
  }

  // --- stacks ------------------------------------------------------------------------------------------------------

  const find = byId("stack-find");
  if (find) {
    find.hidden = false;
    find.append(field(say("Find a frame"), (text) => {
      for (const chain of all(".chain")) {
        const holds = chain.querySelector(".frames").textContent.toLowerCase().includes(text);
        chain.classList.toggle("found", text !== "" && holds);
        chain.classList.toggle("missed", text !== "" && !holds);
      }
    }));
  }

  // --- zoom ------------------------------------------------------------------------------------------------------------

  // `set(zoom)` draws a picture anew; what stood under the pointer, else in the middle, stays there.
  function zoomable(scroller, least, most, set) {
    let zoom = 1;
    const change = (factor, clientX) => {
      const box = scroller.getBoundingClientRect();
      const at = (clientX ?? box.left + box.width / 2) - box.left;
      const before = zoom;
      zoom = factor ? inside(zoom * factor, least, most) : 1;
      set(zoom);
      scroller.scrollLeft = (scroller.scrollLeft + at) * zoom / before - at;
    };
    const bar = make("p", { class: "zoom" });
    for (const [text, name, factor] of [[say("Fit"), "Whole picture", 0], ["−", "Zoom out", 0.5], ["+", "Zoom in", 2]]) {
      const button = make("button", { type: "button", "aria-label": `${text} ${say(name)}: ${scroller.getAttribute("aria-label")}` }, text);
      button.addEventListener("click", () => change(factor));
      bar.append(button);
    }
    const told = make("span", { class: "readout" });
    bar.append(told);
    scroller.before(bar);
    scroller.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      change(event.deltaY < 0 ? 1.25 : 0.8, event.clientX);
    }, { passive: false });
    scroller.addEventListener("keydown", (event) => {
      const factor = { "+": 2, "=": 2, "-": 0.5, "0": 0 }[event.key];
      if (factor === undefined || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      change(factor);
    });
    addEventListener("beforeprint", () => change(0));
    return [told, () => change(0)];
  }

  // --- timeline ----------------------------------------------------------------------------------------------------------

  const minus = (text) => text.replace("-", "−");

  function nice(step) {
    if (step > 30) return [60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200].find((long) => long >= step) ?? 86400;
    const magnitude = 10 ** Math.floor(Math.log10(step));
    return [1, 2, 5, 10].find((factor) => factor * magnitude >= step * 0.999) * magnitude;
  }

  // Seconds from zero with as many digits as `step` needs.
  function clock(elapsed, step) {
    const size = Math.abs(elapsed);
    if (size < step / 100) return "0";
    const sign = elapsed < 0 ? "−" : "+";
    const digits = (unit) => inside(Math.ceil(-Math.log10(step / unit) - 0.01), 0, 6);
    if (size >= 60) return `${sign}${Math.floor(size / 60)} min ${(size % 60).toFixed(digits(1)).padStart(2, "0")} s`;
    const [unit, name] = size >= 1 ? [1, "s"] : size >= 1e-3 ? [1e-3, "ms"] : [1e-6, "µs"];
    return `${sign}${(size / unit).toFixed(digits(unit))} ${name}`;
  }

  for (const svg of all("svg.timeline")) {
    const left = Number(svg.dataset.left);
    const parts = svg.dataset.parts.split(";").map((part) => part.split(",").map(Number));
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const ticks = svg.querySelector(".ticks");
    const names = svg.querySelector(".names");
    const before = [...ticks.childNodes];
    const placed = all("[data-at]", svg).map((node) => [node, Number(node.dataset.at), number(node, "width")]);
    const scroller = svg.parentElement;
    let zoom = 1;
    let picked = null; // where a span of time begins and ends, as if not zoomed
    const fit = () => Math.max(1, (scroller.clientWidth - left) / (width - left));
    const x = (at) => left + (at - left) * zoom;

    function moments() {
      const found = [];
      for (const [from, to, begin, end] of parts) {
        if (end <= begin) { found.push([(from + to) / 2, begin, 1]); continue; }
        const step = nice((end - begin) / Math.max(1, Math.floor((to - from) * zoom / 110)));
        for (let at = Math.ceil(begin / step - 1e-6); at * step <= end + step * 1e-6; at++) {
          found.push([from + (at * step - begin) / (end - begin) * (to - from), at * step, step]);
        }
      }
      return found;
    }

    const draw = (tag, attributes, text) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      if (text) made.textContent = text;
      return made;
    };

    const [told, redraw] = zoomable(scroller, 1, 64, (wanted) => {
      zoom = wanted * fit();
      const whole = x(width);
      svg.setAttribute("viewBox", `0 0 ${whole} ${height}`);
      svg.setAttribute("width", whole);
      for (const [node, at, wide] of placed) {
        node.setAttribute("transform", `translate(${x(at) - at} 0)`);
        if (wide) node.setAttribute("width", wide * zoom);
      }
      ticks.replaceChildren(...(zoom === 1 ? before : moments().flatMap(([at, elapsed, step]) => [
        draw("path", { class: "grid-line", d: `M${x(at)} 20V${height - 4}` }),
        draw("text", { class: "tick", x: x(at), y: 13 }, clock(elapsed, step)),
      ])));
      for (const text of all(".inside", svg)) text.remove();
      for (const bar of wanted > 1 ? all(".bar, .open", svg) : []) {
        const [what] = bar.textContent.split(/ of |：/);
        const room = number(bar, "width");
        if (room < what.length * 7 + 8) continue;
        const text = draw("text", { class: "inside", x: x(Number(bar.dataset.at)) + 4, y: number(bar, "y") + 14 }, what);
        bar.after(text);
      }
      drawPicked();
    });
    scroller.addEventListener("scroll", () => names.setAttribute("transform", `translate(${scroller.scrollLeft} 0)`));

    // A span of time, chosen by dragging: how long it is, which operations begin and which events stand in it.
    const placeAt = (event) => {
      const box = svg.getBoundingClientRect();
      return inside(left + ((event.clientX - box.left) * x(width) / box.width - left) / zoom, left, width);
    };
    const timeAt = (at) => {
      const [from, to, begin, end] = parts.find(([, right]) => at <= right) ?? parts[parts.length - 1];
      return at <= from ? begin : begin + Math.min(1, (at - from) / (to - from)) * (end - begin);
    };
    const chosen = draw("rect", { class: "selected", y: 18, height: height - 18 });
    const sums = make("p", { class: "note picked", role: "status" });
    scroller.after(sums);
    function drawPicked() {
      if (!picked) { chosen.remove(); sums.textContent = ""; return; }
      const [from, to] = [Math.min(...picked), Math.max(...picked)];
      chosen.setAttribute("x", x(from));
      chosen.setAttribute("width", x(to) - x(from));
      svg.append(chosen);
      const [begin, end] = [timeAt(from), timeAt(to)];
      const isIn = (node) => Number(node.dataset.at) >= from && Number(node.dataset.at) <= to;
      const counts = new Map();
      for (const bar of all(".bar, .open", svg).filter(isIn)) {
        const what = bar.textContent.split(/[#:：]| of /)[0].trim();
        counts.set(what, (counts.get(what) ?? 0) + 1);
      }
      const step = (end - begin) / 100;
      const lines = [say("{0} to {1}: {2}", clock(begin, step), clock(end, step), clock(end - begin, step).replace("+", ""))];
      const most = [...counts].sort((one, two) => two[1] - one[1]).slice(0, 4);
      if (most.length) lines.push(most.map(([what, many]) => `${many} × ${what}`).join(say(", ")));
      const events = all(".moment", svg).filter(isIn).map((node) => node.querySelector("text").textContent);
      if (events.length) lines.push(say("events {0}", events.join(say(", "))));
      sums.textContent = lines.join(" · ");
    }
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch" || event.target.closest("a")) return;
      const start = [event.clientX, placeAt(event)];
      event.preventDefault();
      scroller.focus({ preventScroll: true });
      const follow = (moved) => { picked = Math.abs(moved.clientX - start[0]) > 3 ? [start[1], placeAt(moved)] : null; drawPicked(); };
      const stop = () => { removeEventListener("pointermove", follow); removeEventListener("pointerup", stop); };
      picked = null;
      drawPicked();
      addEventListener("pointermove", follow);
      addEventListener("pointerup", stop);
    });
    scroller.addEventListener("keydown", (event) => { if (event.key === "Escape") { picked = null; drawPicked(); } });
    if (fit() > 1) redraw();
    svg.addEventListener("pointermove", (event) => {
      const at = placeAt(event);
      const part = parts.find(([from, to]) => at >= from && at <= to);
      const [from, to, begin, end] = part ?? [0, 1, 0, 0];
      const time = part && end > begin ? clock(begin + (at - from) / (to - from) * (end - begin), (end - begin) / (to - from) / zoom) : "";
      const what = event.target.closest("rect, path, a, g")?.querySelector("title")?.textContent ?? "";
      told.textContent = [time, what].filter(Boolean).join(" · ");
    });
    svg.addEventListener("pointerleave", () => { told.textContent = ""; });
  }

  // --- who waits for whom --------------------------------------------------------------------------------------------------

  for (const svg of all("svg.graph")) {
    const [wide, high] = [number(svg, "width"), number(svg, "height")];
    zoomable(svg.parentElement, 0.25, 8, (zoom) => {
      svg.classList.remove("zoomed"); // as wide as the page has room for
      svg.setAttribute("width", wide);
      svg.setAttribute("height", high);
      if (zoom === 1) return;
      const fitted = svg.getBoundingClientRect().width;
      svg.classList.add("zoomed");
      svg.setAttribute("width", fitted * zoom);
      svg.setAttribute("height", high * fitted * zoom / wide);
    });
    const boxes = all(".node", svg);
    for (const box of boxes) {
      box.addEventListener("click", (event) => {
        event.preventDefault();
        const id = box.getAttribute("href").slice(1);
        const near = new Set([id]);
        for (const arrow of all(".arrow", svg)) {
          const ends = arrow.dataset.ends.split(" ");
          const touches = ends.includes(id);
          arrow.classList.toggle("chosen", touches);
          if (touches) ends.forEach((end) => near.add(end));
        }
        for (const other of boxes) {
          other.classList.toggle("far", !near.has(other.getAttribute("href").slice(1)));
          other.classList.toggle("chosen", other === box);
        }
        const drawer = byId("graph-drawer");
        drawer.hidden = false;
        drawer.replaceChildren(...[...byId(id).childNodes].map((node) => node.cloneNode(true)));
        history.replaceState(null, "", `#${id}`);
      });
    }
  }

  // --- ranks -------------------------------------------------------------------------------------------------------

  const grids = all(".rank-grid").map((svg) => ({
    svg,
    step: Number(svg.dataset.step),
    runs: svg.dataset.places.split(";").map((run) => run.split(",").map(Number)),
    marker: document.createElementNS("http://www.w3.org/2000/svg", "path"),
  }));
  const drawer = byId("rank-drawer");
  const data = byId("incident-json");
  if (!data) return; // a page of tables alone
  const report = JSON.parse(data.textContent);
  const views = report.incidents[report.primary]?.views;
  let current = null;
  for (const { marker } of grids) marker.setAttribute("class", "chosen");

  const spans = (ranges) => ranges.split(",").filter(Boolean).map((part) => {
    const [first, last] = part.split("-").map(Number);
    return [first, last ?? first];
  });
  const holds = (ranges, rank) => spans(ranges).some(([first, last]) => rank >= first && rank <= last);
  const within = ([, , first, length, stride], rank) =>
    rank >= first && (rank - first) % stride === 0 && (rank - first) / stride < length;
  const words = Object.fromEntries(all("#ranks [data-state]").map((item) => [item.dataset.state, item.dataset.word]));
  const each = (ranges, act) => {
    for (const [first, last] of spans(ranges)) for (let rank = first; rank <= Math.min(last, first + 99999); rank++) act(rank);
  };
  const states = new Map();
  for (const cell of grids.length ? views.grid : []) each(cell.ranks, (rank) => states.set(rank, words[cell.state]));
  const hostOf = (rank) => views.hosts.find((item) => holds(item.ranks, rank))?.host;

  function title(rank) {
    const [host, state] = [hostOf(rank), states.get(rank)];
    return (host ? say("Rank {0} on {1}", rank, host) : say("Rank {0}", rank)) + (state ? say(": {0}", state) : "");
  }

  function describe(rank) {
    const lines = [title(rank)];
    if (views.mesh.length) {
      lines.push(views.mesh.map((axis) => `${axis.name} ${Math.floor(rank / axis.stride) % axis.size}`).join(", "));
    }
    for (const track of views.tracks) if (track.held && holds(track.ranks, rank)) lines.push(say("Waits in {0}", track.held));
    for (const stack of views.stacks) {
      if (holds(stack.ranks, rank)) lines.push(say("Stack: {0} (class of {1})", stack.top, stack.count));
    }
    for (const row of views.collectives) {
      if (!holds(row.ranks, rank)) continue;
      lines.push(say("{0}: enqueued {1}, completed {2}", row.group, row.last_enqueued ?? "–", row.last_completed ?? "–") +
        (row.open_op ? say(", in {0}", row.open_op) : "") + (row.mark ? say(" ({0})", row.mark) : ""));
    }
    return lines.join("\n");
  }

  // Several ranks: how many are in which state, and what the hardware of their host recorded.
  function summarise(name, ranks, host) {
    const total = {};
    for (const rank of ranks) {
      const state = states.get(rank) ?? say("not seen");
      total[state] = (total[state] ?? 0) + 1;
    }
    const lines = [name + say(": {0}", Object.entries(total).map(([state, many]) => say("{0} {1}", many, state)).join(say(", ")))];
    for (const row of views.hardware) if (host && row.host === host) lines.push(`${row.code ?? ""} ${row.text}`.trim());
    return lines.slice(0, 8).join("\n");
  }

  // Frames these ranks in every drawing; false: none of them is drawn.
  function frame(ranks) {
    let found = false;
    for (const { svg, step, runs, marker } of grids) {
      let path = "";
      for (const run of runs) {
        for (let at = 0, begin = -1; at <= run[3]; at++) {
          const isIn = at < run[3] && ranks.has(run[2] + at * run[4]);
          if (isIn && begin < 0) begin = at;
          if (isIn || begin < 0) continue;
          const wide = (at - begin) * step + 1;
          path += `M${run[0] + begin * step - 1} ${run[1] - 1}h${wide}v${step + 1}h-${wide}z`;
          begin = -1;
        }
      }
      marker.setAttribute("d", path);
      svg.append(marker);
      found ||= path !== "";
    }
    return found;
  }

  function choose(ranges, name, host) {
    const ranks = new Set();
    each(ranges, (rank) => ranks.add(rank));
    const [only] = ranks;
    const found = frame(ranks);
    drawer.hidden = false;
    drawer.textContent = !found ? say("There is no rank {0}.", ranges) : ranks.size === 1 && !host ? describe(only) : summarise(name ?? say("Ranks {0}", ranges), ranks, host);
    if (found) current = only;
  }

  function reveal(node) {
    for (let at = node.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    node.scrollIntoView({ block: "nearest" });
  }

  function fromAddress() {
    const [, kind, text] = /^#(rank|host)=(.+)$/.exec(location.hash) ?? [];
    if (!kind) {
      const target = byId(location.hash.slice(1));
      if (target) reveal(target);
      return;
    }
    if (!grids.length) return;
    if (kind === "rank" && /^\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*$/.test(text)) choose(text);
    const host = kind === "host" ? views.hosts.find((item) => encodeURIComponent(item.host) === text) : null;
    if (host) choose(host.ranks, host.host, host.host);
    byId("ranks").scrollIntoView();
  }

  // The cell at a place of the page: [rank, run].
  function cellAt({ svg, step, runs }, event) {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const run = runs.find(([left, top, , length]) => x >= left && x < left + length * step && y >= top && y < top + step);
    return run && run[2] + Math.floor((x - run[0]) / step) * run[4];
  }

  // The rank beside, above or below another one.
  function beside({ step, runs }, rank, key) {
    const run = runs.find((one) => within(one, rank));
    if (!run) return runs[0][2];
    const at = (rank - run[2]) / run[4];
    if (key === "ArrowLeft" || key === "ArrowRight") return rank + (key === "ArrowLeft" ? -1 : 1) * run[4];
    const x = run[0] + at * step;
    const way = key === "ArrowUp" ? -1 : 1;
    const near = runs.filter((one) => (one[1] - run[1]) * way > 0 && x >= one[0] && x < one[0] + one[3] * step)
      .sort((one, two) => (one[1] - two[1]) * way)[0];
    return near ? near[2] + Math.floor((x - near[0]) / step) * near[4] : rank;
  }

  for (const grid of grids) {
    const { svg } = grid;
    const pick = (rank) => { choose(String(rank)); history.replaceState(null, "", `#rank=${rank}`); };
    svg.addEventListener("click", (event) => { const rank = cellAt(grid, event); if (rank !== undefined) pick(rank); });
    svg.addEventListener("pointermove", (event) => {
      const rank = cellAt(grid, event);
      byId("rank-hover").textContent = rank === undefined ? "" : title(rank);
    });
    svg.parentElement.addEventListener("keydown", (event) => {
      if (!/^Arrow/.test(event.key)) return;
      event.preventDefault();
      const next = current === null ? grid.runs[0][2] : beside(grid, current, event.key);
      if (grid.runs.some((run) => within(run, next))) pick(next);
    });
  }
  const rankFind = byId("rank-find");
  if (rankFind) {
    rankFind.hidden = false;
    rankFind.append(field(say("Find ranks or a host"), (text) => {
      const host = views.hosts.find((item) => item.host.toLowerCase() === text);
      if (host) choose(host.ranks, host.host, host.host);
      else if (/^\d{1,7}(-\d{1,7})?$/.test(text)) choose(text);
    }));
  }
  addEventListener("hashchange", fromAddress);
  fromAddress();
})();
