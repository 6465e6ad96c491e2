// Which view is shown: "#/" is the overview, "#/run/3" a run, "#/run/3/7" one of its attempts.

const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");
let shown = 0;

function fillFrame() {
  const title = data.kind === "report" ? `Report: ${data.title}` : "Comparison";
  document.title = visible(title);
  const heading = element(data.kind === "report" ? "strong" : "h1", null, element("bdi", null, title));
  append(document.getElementById("top"), [
    heading,
    element(
        "span", {class: "quiet"}, data.kind === "report" ? countText(data.runs.length, "run") + ", " : "", "kernelgen ",
        data.version),
    element(
        "span", {class: "end"}, makeSchemeButton(),
        element("button", {type: "button", onclick: () => print()}, "Print"))
  ]);
  const keys = data.kind === "report" ?
      [["/", "search"], ["up, down", "rows"], ["p", "previous run"], ["n", "next run"], ["Esc", "all runs"]] :
      [["/", "search"], ["up, down", "rows"]];
  append(
      document.getElementById("foot"),
      ["Keys: ", keys.flatMap(([key, what]) => [element("kbd", null, key), ` ${what} `])]);
}

async function makeView(hash) {
  if (data.kind !== "report") return showComparison(data);
  const match = /^#\/run\/(\d+)(?:\/(\d+))?$/.exec(hash);
  if (!match || Number(match[1]) >= data.runs.length) return showOverview(data);
  return showRun(data, Number(match[1]), match[2] ? Number(match[2]) : null);
}

/** The place on the overview to come back to. */
let overviewPlace = 0;
let shownHash = null;

async function showView() {
  const hash = location.hash;
  if (hash && !hash.startsWith("#/")) return;
  const turn = ++shown;
  if (shownHash !== null && !shownHash.startsWith("#/run")) overviewPlace = scrollY;
  const view = await makeView(hash);
  // Another view was asked for meanwhile.
  if (turn !== shown) return;
  main.replaceChildren(view);
  const isFirst = shownHash === null;
  shownHash = hash;
  drawPlots();
  if (/^#\/run\/\d+\/\d+$/.test(hash)) {
    document.getElementById("attempt")?.focus();
    document.getElementById("attempt")?.scrollIntoView();
  } else if (!isFirst) {
    main.focus({preventScroll: true});
    scrollTo(0, hash.startsWith("#/run") ? 0 : overviewPlace);
  }
}

/** Keys that are not meant for a field. */
function pressKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, select, textarea")) return;
  if (event.key === "/" && document.querySelector(".search")) {
    event.preventDefault();
    document.querySelector(".search").focus();
  }
  if (event.key === "Escape" && shownHash.startsWith("#/run")) location.hash = "#/";
  if (event.key === "n") document.querySelector("nav a[rel=next]")?.click();
  if (event.key === "p") document.querySelector("nav a[rel=prev]")?.click();
}

fillFrame();
window.addEventListener("hashchange", showView);
document.addEventListener("keydown", pressKey);
showView();
