/* The atlas file's types, generated from docs/atlas.schema.json by npm run types. Do not edit. */

/**
 * An expert atlas (atlas.json): which experts of a mixture-of-experts model were chosen for which topics, and how far to believe it. S experts seen, C topics, P probes, F phases (or, below evidence, features).
 */
export interface AtlasFile {
  format: "expert-atlas atlas";
  schema_version: 2;
  made_by?: {
    name: string;
    version: string;
    commit?: string;
    [k: string]: unknown;
  };
  /**
   * code-unit order
   *
   * @minItems 2
   */
  topics: [string, string, ...string[]];
  source: Source;
  reference: Reference;
  /**
   * by phase: all, prompt, answer, picture
   */
  evidence?: {
    [k: string]: PhaseEvidence;
  };
  /**
   * permutations, draws, seed of the evidence
   */
  evidence_options?: {
    [k: string]: number;
  };
  /**
   * affinities in the prompt phase against those in the answer phase, or not_computed
   */
  prompt_against_answer?: {
    /**
     * Why this could not be computed. The other fields are then absent.
     */
    not_computed?: string;
    experts?: number;
    correlation?: number;
    disattenuated_correlation?: number;
    differing_top_topic?: number;
    mean_distance?: number;
    [k: string]: unknown;
  };
  experts: Experts;
  counts: Counts;
  [k: string]: unknown;
}
/**
 * The manifest of the trace or counts that the atlas was built from.
 */
export interface Source {
  format?: string;
  version?: number;
  /**
   * Texts are empty where unknown.
   */
  model: {
    name: string;
    config_sha256?: string;
    weights_sha256?: string;
    quantisation?: string;
    [k: string]: unknown;
  };
  engine: {
    name: string;
    version?: string;
    [k: string]: unknown;
  };
  /**
   * template arguments, decoding, whatever else decides the routes
   */
  settings: {
    [k: string]: unknown;
  };
  probe_set: {
    sha256?: string;
    schema_version?: number;
    topic_axis?: string;
    provenance?: {
      [k: string]: unknown;
    };
    /**
     * one a probe, in probe order
     */
    texts?: ProbeText[];
    [k: string]: unknown;
  };
  /**
   * absolute indices of the MoE layers, rising
   */
  layers: number[];
  expert_count: number;
  expert_top_k: number;
  weights: "applied" | "none";
  order?: "weight" | "as given";
  probes: Probe[];
  missing: {
    probe: number;
    layer?: number;
    rows?: number;
    reason: string;
    [k: string]: unknown;
  }[];
  [k: string]: unknown;
}
/**
 * What a probe said; absent from an atlas made with --no-text.
 */
export interface ProbeText {
  prompt: string;
  answer?: string;
  images?: string[];
  [k: string]: unknown;
}
/**
 * One prompt that was run, in the order of every [probe] dimension.
 */
export interface Probe {
  id: string;
  topic: string;
  /**
   * axis: value
   */
  labels: {
    [k: string]: string;
  };
  row_begin: number;
  row_end: number;
  /**
   * rows by phase
   */
  tokens: {
    [k: string]: number;
  };
  [k: string]: unknown;
}
/**
 * The numbers of the reference document.
 */
export interface Reference {
  options: {
    min_count: number;
    min_runs: number;
    strong_threshold: number;
    [k: string]: unknown;
  };
  summary: {
    experts_seen: number;
    experts_kept: number;
    dropped_sparse?: number;
    dropped_unreplicated?: number;
    strong_specialists?: number;
    strong_specialist_rate?: number;
    [k: string]: unknown;
  };
  /**
   * Leave-one-prompt-out by top-k sets.
   */
  validation: {
    top_k: number;
    hits: number;
    accuracy: number;
    chance: number;
    trials: ReferenceTrial[];
    [k: string]: unknown;
  };
  [k: string]: unknown;
}
export interface ReferenceTrial {
  topic: string;
  ordinal: number;
  predicted: string;
  own_share: number;
  best_other_share: number;
  /**
   * [topic]
   */
  scores: number[];
  [k: string]: unknown;
}
/**
 * Everything of one phase. Parts that an atlas lacks were not computed.
 */
export interface PhaseEvidence {
  /**
   * Why this could not be computed. The other fields are then absent.
   */
  not_computed?: string;
  /**
   * prompts without selections in this phase
   */
  probes_left_out?: number[];
  /**
   * layers that lack rows of some prompt
   */
  layers_left_out?: number[];
  verdict?: string;
  /**
   * cosine is the main test, set the one that is easier to explain
   */
  held_out?: {
    cosine: HeldOut;
    set?: HeldOut;
    [k: string]: unknown;
  };
  experts?: ExpertEvidence;
  layers?: LayerEvidence[];
  /**
   * length_only, token_counts, token_matched (tests), router_weight (against count), split_half (reliability of affinities)
   */
  controls?: {
    [k: string]: Control;
  };
  [k: string]: unknown;
}
/**
 * Topics predicted for prompts that were kept from their models, in balanced folds. The null_* and p fields are absent without permutations.
 */
export interface HeldOut {
  /**
   * Why this could not be computed. The other fields are then absent.
   */
  not_computed?: string;
  accuracy?: number;
  hits?: number;
  trials?: number;
  chance?: number;
  /**
   * lower and upper end of the 95 % interval
   */
  interval_95?: number[];
  null_mean?: number;
  null_quantile_95?: number;
  p_value?: number;
  smallest_p_value?: number;
  relabelings?: number;
  enumerated?: boolean;
  /**
   * f64 [relabelings]
   */
  null_accuracies?: EncodedArray;
  /**
   * [true topic][predicted topic], rows add up to the prompts of the topic
   */
  confusion?: number[][];
  trials_by_prompt?: HeldOutTrial[];
  [k: string]: unknown;
}
/**
 * A large array: little-endian, row-major, compressed as a zlib stream, then base64.
 */
export interface EncodedArray {
  dtype: "u8" | "u16" | "u32" | "u64" | "f32" | "f64";
  shape: number[];
  encoding: "deflate+base64";
  data: string;
}
export interface HeldOutTrial {
  /**
   * r-th probe that is not in probes_left_out of this phase
   */
  run: number;
  draws: number;
  hit_rate: number;
  predicted: number;
  margin: number;
  /**
   * [topic]
   */
  scores: number[];
  [k: string]: unknown;
}
/**
 * Per-expert tests of one phase.
 */
export interface ExpertEvidence {
  /**
   * Why this could not be computed. The other fields are then absent.
   */
  not_computed?: string;
  /**
   * F, experts that can be tested in this phase
   */
  count?: number;
  /**
   * u32 [F], index into the top-level experts
   */
  expert?: EncodedArray;
  /**
   * f64 [F], share of the variance between prompts that topics explain
   */
  eta_squared?: EncodedArray;
  /**
   * f64 [F]; -2: not computed
   */
  p_value?: EncodedArray;
  /**
   * f64 [F], Benjamini-Hochberg; -2: not in the family
   */
  q_value?: EncodedArray;
  /**
   * f64 [F], family-wise; -2: not in the family
   */
  p_value_min_p?: EncodedArray;
  /**
   * f64 [F]
   */
  specialisation?: EncodedArray;
  /**
   * f64 [F]
   */
  lift?: EncodedArray;
  /**
   * f64 [F], share of bootstrap draws with the same top topic; -2: not computed
   */
  top_topic_stability?: EncodedArray;
  /**
   * f64 [F]
   */
  specialisation_above_null?: EncodedArray;
  /**
   * f64 [F, 2]
   */
  specialisation_interval_95?: EncodedArray;
  /**
   * f64 [F, 2]
   */
  lift_interval_95?: EncodedArray;
  /**
   * u32 [F]
   */
  top_topic?: EncodedArray;
  /**
   * u8 [F], 1: a specialist by the rule of docs/statistics.md
   */
  specialist?: EncodedArray;
  /**
   * u8 [F], 1: specialisation at or above the reference's threshold
   */
  strong?: EncodedArray;
  /**
   * f64 [F, C]
   */
  affinity?: EncodedArray;
  /**
   * f64 [F, C], from router weights instead of counts
   */
  router_weight_affinity?: EncodedArray;
  /**
   * f64 [F], excess of the top topic on rows whose token other topics have, too, each token compared with itself; -2: not computed
   */
  token_matched?: EncodedArray;
  /**
   * f64 [F], the same excess on the same rows without comparing tokens; -2: not computed
   */
  unmatched?: EncodedArray;
  family_count?: number;
  relabelings?: number;
  min_p_relabelings?: number;
  smallest_p_value?: number;
  needed_at_smallest_p?: number;
  specialist_count?: number;
  specialist_count_null?: number;
  specialist_false_discovery_estimate?: number;
  strong_count?: number;
  strong_count_null?: number;
  strong_false_discovery_estimate?: number;
  p_values_not_computed?: string;
  profiles_not_computed?: string;
  intervals_not_computed?: string;
  [k: string]: unknown;
}
/**
 * One layer of one phase; a number that is not computed is absent.
 */
export interface LayerEvidence {
  layer: number;
  /**
   * Why this could not be computed. The other fields are then absent.
   */
  not_computed?: string;
  topics_not_computed?: string;
  /**
   * lower and upper end of the 95 % interval
   */
  interval_95?: number[];
  mutual_information?: number;
  mutual_information_null?: number;
  mutual_information_p_value?: number;
  conditional_information?: number;
  conditional_information_null?: number;
  same_rows_information?: number;
  same_rows_information_null?: number;
  specialisation_experts?: number;
  specialisation?: number;
  specialisation_null?: number;
  load_max_over_mean?: number;
  load_variation?: number;
  effective_experts?: number;
  dead_experts?: number;
  accuracy?: number;
  p_value?: number;
  [k: string]: unknown;
}
/**
 * One control, with held_out where it is a test, or not_computed.
 */
export interface Control {
  /**
   * Why this could not be computed. The other fields are then absent.
   */
  not_computed?: string;
  held_out?: HeldOut;
  coverage?: {
    rows?: number;
    matched_rows?: number;
    share: number;
    [k: string]: unknown;
  };
  correlation?: number;
  corrected?: number;
  experts?: number;
  draws?: number;
  differing_top_topic?: number;
  mean_distance?: number;
  [k: string]: unknown;
}
/**
 * Every expert seen, all rows, as the reference document computes it.
 */
export interface Experts {
  /**
   * S, every expert that was seen
   */
  count: number;
  /**
   * u32 [S], absolute layer index
   */
  layer: EncodedArray;
  /**
   * u32 [S], expert id
   */
  expert: EncodedArray;
  /**
   * u64 [S], selections
   */
  total: EncodedArray;
  /**
   * u8 [S]: 0 kept, 1 sparse, 2 unreplicated
   */
  status: EncodedArray;
  /**
   * u32 [S], index into topics
   */
  top_topic: EncodedArray;
  /**
   * f64 [S], 1 - H(affinity) / ln C
   */
  specialisation: EncodedArray;
  /**
   * f64 [S], affinity of the top topic times C
   */
  top_lift: EncodedArray;
  /**
   * u32 [S], prompts of the top topic that chose it
   */
  fired_runs: EncodedArray;
  /**
   * u32 [S], prompts of the top topic
   */
  total_runs: EncodedArray;
  /**
   * f64 [S, C], share per topic, normalised over topics
   */
  affinity: EncodedArray;
  [k: string]: unknown;
}
export interface Counts {
  phases: ("template" | "prompt" | "picture" | "answer" | "unknown")[];
  /**
   * u32 [P, F, S]: selections by probe, phase and expert
   */
  selections: EncodedArray;
  /**
   * f32 [P, F, S]: applied router weights, summed; absent where weights are unknown
   */
  router_weight_sum?: EncodedArray;
  [k: string]: unknown;
}
