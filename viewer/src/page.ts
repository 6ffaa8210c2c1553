// What every view reads: the atlas, the columns of the chosen phase and axis, the experts that pass the filters, the theme.
import { computed, effect, signal } from "@preact/signals";
import { columns_for, phase_names, type Columns } from "./columns";
import { filter_mask, find_expert } from "./filter";
import type { Atlas } from "./read";
import { atlas_axis, axes_of } from "./shares";
import { set, state } from "./state";
import type { Theme } from "./colours";

export const atlas = signal<Atlas>(null as unknown as Atlas); // set before the first view is drawn
export const columns = signal<Columns>(null as unknown as Columns); // likewise
export const fault = signal("");

const prefers_dark = matchMedia("(prefers-color-scheme: dark)");
const system_theme = signal<Theme>(prefers_dark.matches ? "dark" : "light");
prefers_dark.addEventListener("change", (event) => (system_theme.value = event.matches ? "dark" : "light"));
export const theme = computed<Theme>(() => (state.value.theme || system_theme.value) as Theme);

export const phase = computed(() => (phase_names(atlas.value).includes(state.value.phase) ? state.value.phase : "all"));
export const axis = computed(() => (axes_of(atlas.value).includes(state.value.axis) ? state.value.axis : atlas_axis(atlas.value)));
export const phase_evidence = computed(() => atlas.value.file.evidence?.[phase.value]);
export const own_axis = computed(() => axis.value === atlas_axis(atlas.value));

// The state reduced to what the filters read, so that a zoom or a click does not filter again.
const filter_key = computed(() => {
  const { topics, layer_from, layer_to, q_max, stability_min, specialisation_min, total_min, specialist, status } = state.value;
  return JSON.stringify([topics, layer_from, layer_to, q_max, stability_min, specialisation_min, total_min, specialist, status]);
});
export const mask = computed(() => (filter_key.value, filter_mask(atlas.value, columns.value, state.peek())));
export const shown_count = computed(() => mask.value.reduce((sum, ok) => sum + ok, 0));
export const chosen = computed(() => (state.value.expert ? find_expert(atlas.value, state.value.expert) : -1));
export const focus = computed(() => columns.value.topics.indexOf(state.value.topic));

// Keeps `columns` at the chosen phase and axis; a slow answer to an old choice is dropped.
export function follow_choices(): void {
  let asked = 0;
  effect(() => {
    const [name, along] = [phase.value, axis.value], turn = ++asked;
    const present = columns.peek();
    if (present?.phase === name && present.grouping.axis === along) return;
    columns_for(atlas.value, name, along).then(
      (made) => turn === asked && (columns.value = made),
      (error: unknown) => (fault.value = error instanceof Error ? error.message : String(error)),
    );
  });
}

export const choose_expert = (name: string) => set({ expert: name });
