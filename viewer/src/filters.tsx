// The filters, which act on the map, the table, the topics and the depth view alike.
import { atlas, columns, shown_count } from "./page";
import { Foreign, whole } from "./parts";
import { filter_keys, initial_state, set, state, type State } from "./state";

const changed = () => filter_keys.filter((key) => JSON.stringify(state.value[key]) !== JSON.stringify(initial_state[key])).length;
export const clear_filters = () => set(Object.fromEntries(filter_keys.map((key) => [key, initial_state[key]])) as Partial<State>);

type NumberKey = "layer_from" | "layer_to" | "q_max" | "stability_min" | "specialisation_min" | "total_min";

function Limit({ name, label, step, missing }: { name: NumberKey; label: string; step: number; missing?: boolean }) {
  const value = state.value[name];
  return (
    <label class="limit" title={missing ? "not computed in this atlas" : undefined}>
      <span>{label}</span>
      <input type="number" step={step} min={0} disabled={missing} value={Number.isNaN(value) ? "" : value} onInput={(event) => set({ [name]: event.currentTarget.value === "" ? NaN : Number(event.currentTarget.value) })} />
    </label>
  );
}

export function Filters() {
  const c = columns.value, active = changed(), all = shown_count.value === atlas.value.count;
  const toggle = (topic: string) => set({ topics: state.value.topics.includes(topic) ? state.value.topics.filter((name) => name !== topic) : [...state.value.topics, topic] });
  return (
    <details class="filters">
      <summary>Filters{active > 0 && <span class="badge">{active}</span>} <span class="quiet">{all ? `all ${whole(atlas.value.count)} experts` : `${whole(shown_count.value)} of ${whole(atlas.value.count)} experts`}</span></summary>
      <div class="filter-body">
        <fieldset><legend>Top topic</legend>
          <div class="filter-topics">{c.topics.map((topic) => <label key={topic}><input type="checkbox" checked={state.value.topics.includes(topic)} onChange={() => toggle(topic)} /><Foreign>{topic}</Foreign></label>)}</div>
        </fieldset>
        <div class="limits">
          <Limit name="layer_from" label="Layer from" step={1} />
          <Limit name="layer_to" label="to" step={1} />
          <Limit name="specialisation_min" label="Specialisation ≥" step={0.05} />
          <Limit name="total_min" label="Selections ≥" step={10} />
          <Limit name="q_max" label="q ≤" step={0.01} missing={!c.q} />
          <Limit name="stability_min" label="Stability ≥" step={0.05} missing={!c.stability} />
          <label class="check" title={c.specialist ? undefined : "not computed in this atlas"}><input type="checkbox" disabled={!c.specialist} checked={state.value.specialist} onChange={(event) => set({ specialist: event.currentTarget.checked })} />specialists only</label>
          <label class="check"><input type="checkbox" checked={state.value.status === "kept"} onChange={(event) => set({ status: event.currentTarget.checked ? "kept" : "" })} />above the floors only</label>
          <button type="button" disabled={active === 0} onClick={clear_filters}>Clear</button>
        </div>
      </div>
    </details>
  );
}
