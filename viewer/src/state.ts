// What the reader has chosen, all of it in the URL fragment, so that a link or a reload returns to the same view.
import { signal } from "@preact/signals";

export const view_names = ["verdict", "map", "topics", "trials", "depth", "table", "about"] as const;
export type ViewName = (typeof view_names)[number];
export const colour_modes = ["topic", "affinity", "specialisation", "total", "q", "weight"] as const;
export type ColourMode = (typeof colour_modes)[number];
export const map_orders = ["id", "topic", "total"] as const;
export type MapOrder = (typeof map_orders)[number];

export interface State {
  view: ViewName;
  phase: string;
  axis: string; // "": the atlas's own
  expert: string; // "17:203", or "" for none
  topic: string; // in focus, or ""
  colour: ColourMode;
  order: MapOrder;
  at: string; // the map's zoom: "scale,x,y" in parts of its size, or ""
  topics: string[]; // only experts with one of these top topics; none: all
  layer_from: number; // NaN: no limit, here and below
  layer_to: number;
  q_max: number;
  stability_min: number;
  specialisation_min: number;
  total_min: number;
  specialist: boolean;
  status: string; // "" all, "kept" only those above the floors
  sort: string; // the table's column
  descending: boolean;
  test: string; // the trials' test
  cell: string; // the confusion matrix's cell: "true>predicted"
  theme: string; // "", "light", "dark"
}

export const initial_state: State = {
  view: "verdict", phase: "all", axis: "", expert: "", topic: "", colour: "topic", order: "id", at: "", topics: [], layer_from: NaN, layer_to: NaN,
  q_max: NaN, stability_min: NaN, specialisation_min: NaN, total_min: NaN, specialist: false, status: "", sort: "specialisation", descending: true,
  test: "cosine", cell: "", theme: "",
};

export const filter_keys = ["topics", "layer_from", "layer_to", "q_max", "stability_min", "specialisation_min", "total_min", "specialist", "status"] as const;

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

// Only what differs from the initial state is written.
export function to_fragment(state: State): string {
  const fields = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    if (same(value, initial_state[key as keyof State])) continue;
    if (Array.isArray(value)) value.forEach((item) => fields.append(key, item));
    else fields.set(key, String(value));
  }
  const text = fields.toString();
  return text ? "#" + text : "";
}

// Anything unknown or malformed in the fragment is left at its initial value: links come from anywhere.
export function from_fragment(fragment: string): State {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const state: Record<string, unknown> = { ...initial_state };
  const words: Record<string, readonly string[]> = { view: view_names, colour: colour_modes, order: map_orders, theme: ["", "light", "dark"], status: ["", "kept"] };
  for (const [key, initial] of Object.entries(initial_state)) {
    const text = fields.get(key);
    if (text === null) continue;
    if (Array.isArray(initial)) state[key] = fields.getAll(key);
    else if (typeof initial === "number") state[key] = text.trim() === "" ? NaN : Number(text);
    else if (typeof initial === "boolean") state[key] = text === "true";
    else if (!words[key] || words[key].includes(text)) state[key] = text;
  }
  return state as unknown as State;
}

export const state = signal<State>(initial_state);

// Views, experts and topics get a place in the browser's history; sliders and zooms replace the present one.
export function set(change: Partial<State>): void {
  const next = { ...state.value, ...change };
  if (same(next, state.value) && Object.keys(change).every((key) => Object.is(next[key as keyof State], state.value[key as keyof State]))) return;
  const step = (["view", "expert", "topic"] as const).some((key) => next[key] !== state.value[key]);
  state.value = next;
  const url = to_fragment(next) || location.pathname + location.search;
  history[step ? "pushState" : "replaceState"](null, "", url);
}

export function follow_fragment(): void {
  const read = () => (state.value = from_fragment(location.hash));
  read();
  addEventListener("popstate", read);
  addEventListener("hashchange", read);
}
