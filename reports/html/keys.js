// Keys: / finds anything, ? lists the keys, j and k go from section to section, g to whoever is at fault, t to the top.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (tag, attributes = {}, text = "") => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };
  const CHINESE = {
    "Find anything": "查找", "Keys": "快捷键", "Close": "关闭", "rank, host, frame, file, event": "rank、节点、帧、文件、事件", "Nothing is called that.": "没有匹配项。",
    "find anything": "查找", "this list": "本列表", "next, previous section": "下一节、上一节", "who is at fault": "故障方", "top": "页首",
    "in a drawing: zoom in, out, all of it": "图中：放大、缩小、全图", "in the timeline: a span of time": "时间线上：选取一段时间", "drag": "拖动",
    "among ranks": "在 rank 之间移动", "arrows": "方向键", "close": "关闭", "rank {0}": "rank {0}", "ranks {0}": "rank {0}",
  };
  const isChinese = document.documentElement.lang.startsWith("zh");
  const say = (text, ...fields) => ((isChinese && CHINESE[text]) || text).replace(/\{(\d)\}/g, (_, at) => fields[at]);
  const MOST = 12;

  const dialog = (name) => {
    const made = make("dialog", { class: "palette", "aria-label": name });
    made.addEventListener("click", (event) => { if (event.target === made) made.close(); });
    document.body.append(made);
    return made;
  };

  // --- find ----------------------------------------------------------------------------------------------------------

  // What can be found: [text, address, where it stands]. Made when first asked for.
  let entries = null;
  function gathered() {
    const found = new Map();
    const add = (text, address, kind) => {
      const name = text.replace(/\s+/g, " ").trim();
      if (name && !found.has(kind + name)) found.set(kind + name, [name, address, kind]);
    };
    for (const section of all("section[id]")) {
      const title = section.querySelector("h2")?.textContent ?? "";
      add(title, section.id, "");
      for (const node of all("li[id], tr[id]", section)) add(node.cells ? all("td", node).map((cell) => cell.textContent).join(" · ") : node.textContent, node.id, title);
      for (const node of all(".frames code, code", section)) {
        const holder = node.closest("[id]");
        add(node.title || node.textContent, holder.id, title);
      }
    }
    for (const link of all('a[href^="#host="], a[href^="#rank="]')) add(link.textContent, link.getAttribute("href").slice(1), "");
    return [...found.values()];
  }

  function matches(text) {
    const asked = text.trim().toLowerCase();
    const [, ranks] = /^(?:ranks? ?)?(\d{1,7}(?:-\d{1,7})?)$/.exec(asked) ?? [];
    const found = ranks ? [[say(ranks.includes("-") ? "ranks {0}" : "rank {0}", ranks), `rank=${ranks}`, ""]] : [];
    const parts = asked.split(" ");
    const fitting = entries.filter(([name]) => parts.every((part) => name.toLowerCase().includes(part)));
    const begins = ([name]) => !name.toLowerCase().startsWith(asked);
    fitting.sort((one, two) => begins(one) - begins(two) || one[0].length - two[0].length);
    return asked ? [...found, ...fitting].slice(0, MOST) : [];
  }

  const palette = dialog(say("Find anything"));
  const label = make("label", {}, say("Find anything"));
  const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false", placeholder: say("rank, host, frame, file, event"), "aria-controls": "found" });
  label.append(input);
  const list = make("ul", { id: "found", "aria-live": "polite" });
  palette.append(label, list);
  const go = (address) => {
    palette.close();
    location.hash = "";
    location.hash = address;
  };
  input.addEventListener("input", () => {
    const found = matches(input.value);
    list.replaceChildren(...found.map(([text, address, kind]) => {
      const item = make("li");
      const button = make("button", { type: "button" }, text.length > 110 ? `${text.slice(0, 109)}…` : text);
      if (kind) button.append(make("span", { class: "faint" }, kind));
      button.addEventListener("click", () => go(address));
      item.append(button);
      return item;
    }));
    if (!found.length && input.value.trim()) list.append(make("li", { class: "faint" }, say("Nothing is called that.")));
  });
  palette.addEventListener("keydown", (event) => {
    const buttons = all("button", list);
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "Enter" && event.target === input && buttons.length) { event.preventDefault(); buttons[0].click(); }
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    (buttons[at + way] ?? (way < 0 ? input : buttons[at]))?.focus();
  });

  // --- the list of keys ----------------------------------------------------------------------------------------------

  const keys = dialog(say("Keys"));
  const names = make("dl");
  for (const [key, what] of [
    ["/", "find anything"], ["?", "this list"], ["j  k", "next, previous section"], ["g", "who is at fault"], ["t", "top"],
    ["+  −  0", "in a drawing: zoom in, out, all of it"], [say("drag"), "in the timeline: a span of time"], [say("arrows"), "among ranks"], ["Esc", "close"],
  ]) {
    const row = make("div");
    row.append(make("dt", {}, key), make("dd", {}, say(what)));
    names.append(row);
  }
  const close = make("button", { type: "button", class: "copy" }, say("Close"));
  close.addEventListener("click", () => keys.close());
  keys.append(make("h2", {}, say("Keys")), names, close);

  // --- keys ----------------------------------------------------------------------------------------------------------

  const shown = () => all(".card.head, section[id]").sort((one, two) => one.getBoundingClientRect().top - two.getBoundingClientRect().top);
  function move(way) {
    const tops = shown().map((node) => [node, node.getBoundingClientRect().top]);
    const next = way > 0 ? tops.find(([, top]) => top > 24) : tops.reverse().find(([, top]) => top < -1);
    next?.[0].scrollIntoView();
  }
  const ACTS = {
    "/": () => { entries ??= gathered(); input.value = ""; list.replaceChildren(); palette.showModal(); input.focus(); },
    "?": () => keys.showModal(),
    j: () => move(1),
    k: () => move(-1),
    g: () => { const link = document.querySelector(".chips a"); if (link) go(link.getAttribute("href").slice(1)); },
    t: () => scrollTo(0, 0),
  };
  addEventListener("keydown", (event) => {
    const isText = event.target.closest?.("input, textarea, [contenteditable]");
    if (isText || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const act = ACTS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  const hint = make("p", { class: "hint" });
  hint.append(make("kbd", {}, "/"), ` ${say("find anything")} · `, make("kbd", {}, "?"), ` ${say("Keys")}`);
  document.querySelector("footer")?.prepend(hint);
})();
