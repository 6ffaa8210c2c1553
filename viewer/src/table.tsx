// All experts that pass the filters, as a table: sorted by any column, only the rows in sight are in the page, all of them in the CSV.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { csv_of, name_of, sorted_experts, table_columns } from "./filter";
import { atlas, choose_expert, chosen, columns, mask } from "./page";
import { Missing, Topic, whole } from "./parts";
import { save_text } from "./save";
import { set, state } from "./state";

const row_height = 30, spare_rows = 8;

export function TableView() {
  const a = atlas.value, c = columns.value;
  const fields = useMemo(() => table_columns(a, c), [a, c]);
  const sort = fields.find((field) => field.key === state.value.sort) ?? fields.find((field) => field.key === "specialisation")!;
  const experts = useMemo(() => sorted_experts(mask.value, sort, state.value.descending), [mask.value, sort, state.value.descending]);
  const box = useRef<HTMLDivElement>(null);
  const [top, set_top] = useState(0);
  const [height, set_height] = useState(600);
  useEffect(() => set_height(box.current?.clientHeight ?? 600), [experts.length === 0]);
  const first = Math.max(0, Math.floor(top / row_height) - spare_rows), last = Math.min(experts.length, Math.ceil((top + height) / row_height) + spare_rows);
  const choose_sort = (key: string) => set({ sort: key, descending: key === sort.key ? !state.value.descending : key !== "topic" && key !== "layer" && key !== "expert" && key !== "q" });
  const keys = (event: KeyboardEvent) => {
    const at = experts.indexOf(chosen.value), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !experts.length) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(experts.length - 1, at < 0 ? 0 : at + step));
    const y = next * row_height;
    if (y < box.current!.scrollTop + row_height || y > box.current!.scrollTop + height - 3 * row_height) box.current!.scrollTop = Math.max(0, y - height / 2);
    set({ expert: name_of(a, experts[next]) });
    box.current!.focus();
  };
  return (
    <>
      <div class="section-row">
        <h2 class="section">{whole(experts.length)} of {whole(a.count)} experts</h2>
        <button type="button" onClick={() => save_text("experts.csv", "text/csv", csv_of(a, c, experts))}>Download CSV</button>
      </div>
      {c.note && <p class="note">{c.note}</p>}
      {experts.length === 0 ? <Missing>No expert passes the filters. <button type="button" class="link" onClick={() => set({ topics: [], layer_from: NaN, layer_to: NaN, q_max: NaN, stability_min: NaN, specialisation_min: NaN, total_min: NaN, specialist: false, status: "" })}>Clear them</button></Missing> : (
        <div ref={box} class="table-box" tabIndex={0} role="region" aria-label="Table of experts; arrow keys walk through it" onScroll={(event) => set_top(event.currentTarget.scrollTop)} onKeyDown={keys}>
          <table class="experts" aria-rowcount={experts.length + 1}>
            <thead><tr>{fields.map((field) => (
              <th key={field.key} scope="col" aria-sort={field.key === sort.key ? (state.value.descending ? "descending" : "ascending") : "none"} class={field.key === "topic" || field.key === "status" ? "words" : ""}>
                <button type="button" title={field.hint} onClick={() => choose_sort(field.key)}>{field.title}<span aria-hidden="true">{field.key === sort.key ? (state.value.descending ? " ↓" : " ↑") : ""}</span></button>
              </th>
            ))}</tr></thead>
            <tbody>
              {first > 0 && <tr aria-hidden="true" style={{ height: `${first * row_height}px` }}><td colSpan={fields.length} /></tr>}
              {Array.from(experts.subarray(first, last), (e, i) => (
                <tr key={e} aria-rowindex={first + i + 2} class={e === chosen.value ? "picked" : a.status[e] ? "uncertain" : ""} onClick={() => choose_expert(name_of(a, e))}>
                  {fields.map((field) => (
                    <td key={field.key} class={field.key === "topic" || field.key === "status" ? "words" : ""}>
                      {field.key === "expert" ? <button type="button" class="link" aria-label={`Expert ${name_of(a, e)}`} tabIndex={-1}>{field.text(e)}</button> : field.key === "topic" && c.top_topic[e] >= 0 ? <Topic topic={c.top_topic[e]} /> : field.text(e)}
                    </td>
                  ))}
                </tr>
              ))}
              {last < experts.length && <tr aria-hidden="true" style={{ height: `${(experts.length - last) * row_height}px` }}><td colSpan={fields.length} /></tr>}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
