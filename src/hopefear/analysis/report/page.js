"use strict";
// Sorts and filters the list of examples and handles arrow keys. The page is complete without it.
(() => {
  const list = document.getElementById("list");
  const form = document.getElementById("controls");
  if (!list || !form) return;
  const items = Array.from(list.children, (item) => ({
    item,
    number: Number(item.dataset.number),
    length: Number(item.dataset.length),
    scores: JSON.parse(item.dataset.scores),
    text: item.textContent.toLowerCase(),
    badge: item.querySelector("summary .badge"),
  }));
  const control = (id) => document.getElementById(id);
  const [sort, first, second, filter] = ["sort", "first", "second", "filter"].map(control);
  const count = control("count");
  form.hidden = false;

  const difference = (entry) =>
    first ? entry.scores[first.value] - entry.scores[second.value] : -entry.scores[0];
  const lowest = (entry) => Math.min(...entry.scores);
  const orders = {
    difference: (a, b) => Math.abs(difference(b)) - Math.abs(difference(a)),
    score: (a, b) => lowest(a) - lowest(b),
    number: (a, b) => a.number - b.number,
    length: (a, b) => a.length - b.length,
  };

  const update = () => {
    const pattern = filter.value.trim().toLowerCase();
    const order = orders[sort.value];
    items.sort((a, b) => order(a, b) || a.number - b.number);
    const shown = items.filter((entry) => entry.text.includes(pattern));
    for (const entry of items) {
      entry.item.hidden = true;
      if (first) {
        const value = difference(entry);
        entry.badge.textContent = (value > 0 ? "+" : "") + value.toFixed(1);
      }
    }
    for (const entry of shown) entry.item.hidden = false;
    list.append(...items.map((entry) => entry.item));
    count.textContent = shown.length === 1 ? "1 sentence" : `${shown.length} sentences`;
  };

  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());

  list.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const titles = Array.from(list.querySelectorAll(":scope > li:not([hidden]) > details > summary"));
    const at = titles.indexOf(event.target);
    if (at < 0) return;
    const details = titles[at].parentElement;
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: titles.length - 1 };
    if (event.key in moves) {
      const next = titles[moves[event.key]];
      if (next) next.focus();
    } else if (event.key === "ArrowRight") details.open = true;
    else if (event.key === "ArrowLeft") details.open = false;
    else return;
    event.preventDefault();
  });

  update();
})();
