// The page's frame: title, views, search, phase, filters, the chosen expert beside the view.
import { useEffect, useRef } from "preact/hooks";
import { AboutView } from "./about";
import { Card } from "./card";
import { phase_names } from "./columns";
import { DepthView } from "./depth";
import { find_expert, name_of } from "./filter";
import { Filters } from "./filters";
import { MapView } from "./map";
import { atlas, axis, columns, fault, phase, theme } from "./page";
import { Choice, Foreign } from "./parts";
import { atlas_axis, axes_of } from "./shares";
import { set, state, view_names, type ViewName } from "./state";
import { TableView } from "./table";
import { TopicsView } from "./topics";
import { TrialsView } from "./trials";
import { VerdictView } from "./verdict";

const titles: Record<ViewName, string> = { verdict: "Verdict", map: "Map", topics: "Topics", trials: "Trials", depth: "Depth", table: "Experts", about: "Provenance" };
const views: Record<ViewName, () => preact.JSX.Element> = { verdict: VerdictView, map: BigMap, topics: TopicsView, trials: TrialsView, depth: DepthView, table: TableView, about: AboutView };
const filtered: ViewName[] = ["verdict", "map", "topics", "depth", "table"];

function BigMap() {
  return <>{columns.value.note && <p class="note">{columns.value.note}</p>}<MapView tall /></>;
}

export function App() {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const keys = (event: KeyboardEvent) => page_keys(event, search.current!);
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  useEffect(() => { document.documentElement.dataset.theme = theme.value; }, [theme.value]);
  const View = views[state.value.view];
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")!.focus(); }}>Skip to the view</a>
      <Header search={search} />
      <div class={`body${state.value.expert ? " with-card" : ""}`}>
        <main><div id="content" class="view" tabIndex={-1} role="tabpanel" aria-labelledby={`tab-${state.value.view}`}>
          {fault.value && <p class="warning" role="alert">{fault.value}</p>}
          {filtered.includes(state.value.view) && <Filters />}
          <View />
        </div></main>
        {state.value.expert && <Card />}
      </div>
      <footer>Keys: <kbd>1</kbd>–<kbd>{view_names.length}</kbd> views, <kbd>/</kbd> search, <kbd>Esc</kbd> closes the card. On the map: arrows walk, <kbd>Enter</kbd> opens, <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> zoom.</footer>
    </>
  );
}

function page_keys(event: KeyboardEvent, search: HTMLInputElement): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && state.value.expert) return set({ expert: "" });
  if ((event.target as Element).closest("input, select, textarea")) return;
  if (event.key === "/") { event.preventDefault(); search.focus(); search.select(); }
  else if (/^[1-9]$/.test(event.key) && view_names[Number(event.key) - 1]) set({ view: view_names[Number(event.key) - 1] });
}

function Header({ search }: { search: preact.RefObject<HTMLInputElement | null> }) {
  const { source } = atlas.value.file, axes = axes_of(atlas.value);
  return (
    <header>
      <div class="title-row">
        <h1>Expert Atlas</h1>
        <p class="model"><Foreign>{source.model.name || "model not named"}</Foreign>{source.model.quantisation && <> · <Foreign>{source.model.quantisation}</Foreign></>}</p>
        <Search input={search} />
        <Choice label="Phase" value={phase.value} options={phase_names(atlas.value).map((name) => [name, name === "all" ? "all rows" : name] as const)} onChoose={(name) => set({ phase: name })} />
        {axes.length > 1 && <Choice label="Group by" value={axis.value} options={axes.map((name) => [name, name] as const)} onChoose={(name) => set({ axis: name === atlas_axis(atlas.value) ? "" : name, topic: "", topics: [] })} />}
        <button type="button" class="theme" aria-label={theme.value === "dark" ? "Light colours" : "Dark colours"} onClick={() => set({ theme: theme.value === "dark" ? "light" : "dark" })}>{theme.value === "dark" ? "☀" : "☾"}</button>
      </div>
      <Tabs />
    </header>
  );
}

function Search({ input }: { input: preact.RefObject<HTMLInputElement | null> }) {
  const a = atlas.value;
  const go = (event: Event) => {
    event.preventDefault();
    const text = input.current!.value.trim(), topic = columns.value.topics.find((name) => name.toLowerCase() === text.toLowerCase()) ?? columns.value.topics.find((name) => text && name.toLowerCase().startsWith(text.toLowerCase()));
    if (find_expert(a, text) >= 0 || /\d/.test(text)) set({ expert: text.replace(/\s*[:/ ]\s*/, ":") });
    else if (topic) set({ view: "topics", topic });
    else if (text) set({ expert: text });
  };
  return (
    <form class="search" role="search" onSubmit={go}>
      <input ref={input} type="search" list="topic-names" placeholder={`${name_of(a, 0)} or a topic`} aria-label="Find an expert as layer:expert, or a topic" />
      <datalist id="topic-names">{columns.value.topics.map((topic) => <option key={topic} value={topic} />)}</datalist>
    </form>
  );
}

function Tabs() {
  const step = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = view_names[(view_names.indexOf(state.value.view) + by + view_names.length) % view_names.length];
    set({ view: next });
    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" onKeyDown={step}>
      {view_names.map((name) => (
        <button type="button" key={name} id={`tab-${name}`} role="tab" aria-selected={state.value.view === name} aria-controls="content" tabIndex={state.value.view === name ? 0 : -1} onClick={() => set({ view: name })}>{titles[name]}</button>
      ))}
    </div>
  );
}
