// The charts of the overview, with axes and values to point at, over the lines that the server drew.
import uPlot from "uplot";
import styles from "uplot/dist/uPlot.min.css";

const HEIGHT = 120;
const MINUTE_S = 60;
const COLOURS = ["--accent", "--bad", "--slow", "--part", "--wait", "--mute"];
const drawn = new Map<Element, uPlot>();

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function written(value: number, unit: string): string {
  return `${value.toLocaleString(document.documentElement.lang)}${unit}`;
}

function draw(figure: HTMLElement, ages: number[]): void {
  const place = figure.querySelector<HTMLElement>(".plot");
  if (!place) return;
  drawn.get(place)?.destroy();
  const pointed = document.createElement("p");
  pointed.className = "pointed";
  place.replaceChildren(pointed);
  const lines: Record<string, number[]> = JSON.parse(figure.dataset.lines ?? "{}");
  const unit = figure.dataset.unit ?? "";
  const caption = figure.querySelector("figcaption")?.textContent;
  const names = Object.keys(lines);
  const values = Object.values(lines);
  // Differences of counters have no value at the first sample.
  const minutes = ages.slice(-(values[0]?.length ?? 0)).map((age) => -age / MINUTE_S);
  const axis = {
    stroke: colour("--soft"),
    font: `11px ${colour("--sans")}`,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    scales: {
      x: { time: false },
      y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.05)] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        space: 60,
        values: (_plot, at) => at.map((each) => written(each, " min")),
      },
      { ...axis, size: 40, space: 30 },
    ],
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 6 } },
    // What there is only one of has its name above the chart already.
    legend: { show: names[0] !== caption, live: false },
    series: [
      {},
      ...names.map((label, index) => ({
        label,
        stroke: colour(COLOURS[index % COLOURS.length] ?? ""),
        width: 2,
        points: { show: false },
      })),
    ],
    hooks: {
      setCursor: [
        ({ cursor: { idx } }) => {
          const at = idx ?? -1;
          const there = values.map((line) => line[at]).filter((value) => value !== undefined);
          const when = written(Math.round((minutes[at] ?? 0) * 10) / 10, " min");
          pointed.textContent = there.length
            ? `${when}: ${there.map((value) => written(value, unit)).join(" · ")}`
            : "";
        },
      ],
    },
  };
  drawn.set(place, new uPlot(options, [minutes, ...values], place));
}

function drawAll(): void {
  const charts = document.querySelector<HTMLElement>(".charts");
  const ages: number[] = JSON.parse(charts?.dataset.ages ?? "[]");
  for (const figure of document.querySelectorAll<HTMLElement>(".chart[data-lines]"))
    draw(figure, ages);
}

const sheet = new CSSStyleSheet();
sheet.replaceSync(styles);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
drawAll();
document.addEventListener("htmx:after:swap", drawAll);
addEventListener("resize", drawAll);
for (const scheme of [
  "(prefers-color-scheme: dark)",
  "(prefers-contrast: more)",
  "(forced-colors: active)",
])
  matchMedia(scheme).addEventListener("change", drawAll);
