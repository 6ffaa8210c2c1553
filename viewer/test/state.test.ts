import { expect, test } from "vitest";
import { from_fragment, initial_state, to_fragment, type State } from "../src/state";

test("the initial state needs no fragment", () => {
  expect(to_fragment(initial_state)).toBe("");
  expect(from_fragment("")).toEqual(initial_state);
});

test("every state returns from its fragment", () => {
  const state: State = {
    view: "map", phase: "answer", axis: "language", expert: "17:203", topic: "a&b=c#d", colour: "q", order: "total", at: "2.000,-0.500,-0.250", topics: ["C++ & <b>", "中文", "a,b"],
    layer_from: 3, layer_to: 40, q_max: 0.05, stability_min: 0.8, specialisation_min: 0.25, total_min: 100, specialist: true, status: "kept", sort: "q", descending: false,
    test: "set", cell: "a>b", theme: "dark",
  };
  expect(from_fragment(to_fragment(state))).toEqual(state);
});

test("what is unknown or malformed in a fragment stays at its initial value", () => {
  const state = from_fragment("#view=admin&colour=<img>&q_max=&layer_from=x&theme=neon&nonsense=1&order=id");
  expect(state).toEqual(initial_state);
});
