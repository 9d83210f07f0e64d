"use strict";
// The table of every cell: sorted, filtered and shown page by page, so that ten thousand cost no more than fifty.
{
  const PAGE = 50;
  const ENTRANT = 2;
  const REASONS = 11;
  const { entrants, rows } = JSON.parse(document.getElementById("cells-data").textContent);
  const section = document.getElementById("cells");
  const body = section.querySelector("tbody");
  const heads = [...section.querySelectorAll("thead th")];
  const filters = [...section.querySelectorAll("select")];
  const steps = [...section.querySelectorAll("[data-step]")];
  const written = heads.map(({ dataset: { decimals } }) => {
    const numbers = new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    return (value) => (value === null ? "–" : numbers.format(value));
  });
  written[ENTRANT] = (position) => entrants[position];
  written[REASONS] = (reasons) => reasons || "valid";
  let page = 0;

  function matches(row) {
    return filters.every(({ value, dataset }) => {
      const held = row[dataset.column];
      if (value === "") return true;
      return String(Number(dataset.column) === REASONS ? held === "" : held) === value;
    });
  }

  // Cells without a value come last, whichever the direction.
  function order() {
    const column = heads.findIndex((head) => head.ariaSort);
    const sign = heads[column].ariaSort === "ascending" ? 1 : -1;
    return (a, b) => {
      const [left, right] = [a[column], b[column]];
      if (left === right) return a[0] - b[0];
      if (left === null || right === null) return left === null ? 1 : -1;
      return (left < right ? -1 : 1) * sign;
    };
  }

  function line(row) {
    const tr = document.createElement("tr");
    tr.append(...row.map((value, column) => {
      const cell = document.createElement(column === 0 ? "th" : "td");
      if (column === 0) cell.scope = "row";
      cell.className = heads[column].className;
      if (column === REASONS) cell.className = value ? "wide invalid" : "faint";
      cell.textContent = written[column](value);
      return cell;
    }));
    return tr;
  }

  function show() {
    const found = rows.filter(matches).sort(order());
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const first = page * PAGE;
    const shown = found.slice(first, first + PAGE);
    body.replaceChildren(...shown.map(line));
    steps[0].disabled = page === 0;
    steps[1].disabled = page === pages - 1;
    const count = new Intl.NumberFormat("en");
    section.querySelector("output").textContent = shown.length
      ? `${count.format(first + 1)} to ${count.format(first + shown.length)} of ${count.format(found.length)}`
      : "no such cell";
  }

  for (const filter of filters) {
    filter.addEventListener("change", () => {
      page = 0;
      show();
    });
  }
  for (const step of steps) {
    step.addEventListener("click", () => {
      page += Number(step.dataset.step);
      show();
    });
  }
  for (const head of heads) {
    head.querySelector("button").addEventListener("click", () => {
      const next = head.ariaSort === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.ariaSort = null;
      head.ariaSort = next;
      page = 0;
      show();
    });
  }
  show();
}
