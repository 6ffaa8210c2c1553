// Reads config.json of glm_moe_dsa (see glm_moe_dsa.h): every key is known, every value implemented, or the error says which is not.
#include <algorithm>

#include "runtime/models/glm_moe_dsa.h"

namespace atlas {

namespace {

constexpr std::uint64_t size_max = std::uint64_t{1} << 31;
constexpr std::uint64_t layer_count_max = 10'000;

struct Reader : ObjectReader {
  using ObjectReader::ObjectReader;

  std::int64_t size(const std::string& key, std::uint64_t max = size_max) {
    const std::uint64_t value = whole_number(key, max);
    if (has(key) && child(key)->is_number() && value == 0) problem(key, "0", "at least 1");
    return static_cast<std::int64_t>(value);
  }
  std::int64_t size_or(const std::string& key, std::int64_t fallback) { return has(key) ? size(key) : fallback; }
  // A key that must have just this value if it is there: another value means arithmetic that is not implemented.
  void only(const std::string& key, const Json& value) {
    const Json* found = child(key);
    if (found != nullptr && *found != value) problem(key, found->dump(), value.dump(), "a variant that is not implemented");
  }
};

// Keys that say nothing about the arithmetic of a forward pass. head_dim is misleading on disk (192 or 64): the rotary part has
// qk_rope_head_dim.
constexpr const char* keys_without_effect[] = {"architectures",
                                               "attention_dropout",
                                               "bos_token_id",
                                               "dtype",
                                               "head_dim",
                                               "index_share_for_mtp_iteration",
                                               "initializer_range",
                                               "pad_token_id",
                                               "pretraining_tp",
                                               "torch_dtype",
                                               "transformers_version",
                                               "use_cache",
                                               "_name_or_path",
                                               "ep_size"};

void read_sizes(Reader& reader, GlmMoeDsaConfig& config) {
  config.vocab_size = reader.size("vocab_size");
  config.hidden_size = reader.size("hidden_size");
  config.num_hidden_layers = reader.size("num_hidden_layers", layer_count_max);
  config.max_position_embeddings = reader.size("max_position_embeddings");
  config.intermediate_size = reader.size("intermediate_size");
  config.moe_intermediate_size = reader.size("moe_intermediate_size");
  config.n_shared_experts = reader.size("n_shared_experts");
  config.num_attention_heads = reader.size("num_attention_heads");
  config.q_lora_rank = reader.size("q_lora_rank");
  config.kv_lora_rank = reader.size("kv_lora_rank");
  config.qk_nope_head_dim = reader.size("qk_nope_head_dim");
  config.qk_rope_head_dim = reader.size("qk_rope_head_dim");
  config.v_head_dim = reader.size("v_head_dim");
  config.index_n_heads = reader.size("index_n_heads");
  config.index_head_dim = reader.size("index_head_dim");
  config.index_topk = reader.size("index_topk");
  config.num_nextn_predict_layers = static_cast<std::int64_t>(reader.whole_number_or("num_nextn_predict_layers", size_max, 0));
  config.rms_norm_eps = reader.number_or("rms_norm_eps", 1e-5);
  if (config.qk_rope_head_dim % 2 != 0) reader.problem("qk_rope_head_dim", std::to_string(config.qk_rope_head_dim), "an even number");
  if (config.index_head_dim < config.qk_rope_head_dim)
    reader.problem("index_head_dim", std::to_string(config.index_head_dim), "at least qk_rope_head_dim");
  if (reader.size_or("qk_head_dim", config.qk_head_dim()) != config.qk_head_dim())
    reader.problem("qk_head_dim", reader.child("qk_head_dim")->dump(), "qk_nope_head_dim + qk_rope_head_dim");
}

void read_router(Reader& reader, GlmMoeDsaConfig& config) {
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"}) {  // three names that are in use
    if (!reader.has(key)) continue;
    const std::int64_t count = reader.size(key);
    if (config.n_routed_experts != 0 && config.n_routed_experts != count)
      reader.problem(key, std::to_string(count), std::to_string(config.n_routed_experts) + ", as its other name says");
    config.n_routed_experts = count;
  }
  if (config.n_routed_experts == 0) reader.required("n_routed_experts");
  config.num_experts_per_tok = reader.size("num_experts_per_tok");
  config.n_group = reader.size_or("n_group", 1);
  config.topk_group = reader.size_or("topk_group", 1);
  reader.required("routed_scaling_factor");
  config.routed_scaling_factor = reader.number_or("routed_scaling_factor", 1);
  config.norm_topk_prob = reader.boolean_or("norm_topk_prob", true);
  if (config.n_routed_experts == 0 || config.n_group == 0) return;
  const std::int64_t group_size = config.n_routed_experts / config.n_group;
  if (config.n_routed_experts % config.n_group != 0 || group_size < 2)
    reader.problem("n_group", std::to_string(config.n_group), "a divisor of n_routed_experts that leaves 2 experts or more a group");
  if (config.topk_group > config.n_group) reader.problem("topk_group", std::to_string(config.topk_group), "n_group at most");
  if (config.num_experts_per_tok > group_size * config.topk_group)
    reader.problem("num_experts_per_tok", std::to_string(config.num_experts_per_tok), "no more than the experts of topk_group groups");
}

void read_rope(Reader& reader, GlmMoeDsaConfig& config, const std::string& where, std::vector<Problem>& problems) {
  const double flat = reader.number_or("rope_theta", 0);  // older files; GLM-5.2's own value is in rope_parameters
  const Json* nested = reader.child("rope_parameters");
  if (nested != nullptr && nested->is_object()) {
    Reader rope(*nested, where + ".rope_parameters", problems);
    config.rope_theta = rope.number_or("rope_theta", 0);
    rope.only("rope_type", "default");
    rope.only("partial_rotary_factor", 1.0);
    rope.refuse_unknown();
    if (flat != 0 && flat != config.rope_theta) reader.problem("rope_theta", std::to_string(flat), "the value of rope_parameters.rope_theta");
  } else {
    config.rope_theta = flat;
  }
  reader.only("rope_scaling", nullptr);
  if (!(config.rope_theta > 0)) reader.problem("rope_parameters.rope_theta", "none", "a number above 0");
}

// A list with one of two words for each layer, as flags: true for the first word.
std::vector<bool> two_words(Reader& reader, const std::string& key, std::int64_t layer_count, const std::string& yes, const std::string& no) {
  const Json& list = *reader.child(key);
  std::vector<bool> flags;
  const auto is_word = [&](const Json& word) { return word == yes || word == no; };
  if (!list.is_array() || static_cast<std::int64_t>(list.size()) != layer_count || !std::all_of(list.begin(), list.end(), is_word)) {
    reader.problem(key, list.dump(), "a list of num_hidden_layers words \"" + yes + "\" or \"" + no + "\"");
    return std::vector<bool>(static_cast<std::size_t>(layer_count), true);
  }
  for (const Json& word : list) flags.push_back(word == yes);
  return flags;
}

// indexer_types, else index_topk_pattern ("FSSF" or a list of words), else every index_topk_freq-th layer, counted from the offset.
std::vector<bool> read_indexer_schedule(Reader& reader, std::int64_t layer_count) {
  const auto freq = static_cast<std::int64_t>(reader.whole_number_or("index_topk_freq", size_max, 1));
  const auto offset = static_cast<std::int64_t>(reader.whole_number_or("index_skip_topk_offset", size_max, 2));
  const Json* types = reader.child("indexer_types");
  const Json* pattern = reader.child("index_topk_pattern");
  std::vector<bool> has_indexer;
  if (types != nullptr && !types->is_null()) {
    has_indexer = two_words(reader, "indexer_types", layer_count, "full", "shared");
  } else if (pattern != nullptr && pattern->is_array()) {
    has_indexer = two_words(reader, "index_topk_pattern", layer_count, "full", "shared");
  } else if (pattern != nullptr && !pattern->is_null()) {
    const std::string letters = pattern->is_string() ? pattern->get<std::string>() : "";
    if (static_cast<std::int64_t>(letters.size()) != layer_count || letters.find_first_not_of("FS") != std::string::npos)
      reader.problem("index_topk_pattern", pattern->dump(), "num_hidden_layers letters F or S");
    for (const char letter : letters) has_indexer.push_back(letter == 'F');
  } else {
    for (std::int64_t i = 0; i < layer_count; i++)
      has_indexer.push_back(std::max<std::int64_t>(i - offset + 1, 0) % std::max<std::int64_t>(freq, 1) == 0);
  }
  if (!has_indexer.empty() && !has_indexer.front())
    reader.problem("indexer_types", "a first layer that shares", "\"full\" first", "there is no earlier selection to share");
  return has_indexer;
}

void read_layer_kinds(Reader& reader, GlmMoeDsaConfig& config) {
  const std::int64_t layer_count = config.num_hidden_layers;
  config.has_indexer = read_indexer_schedule(reader, layer_count);
  const bool has_types = reader.has("mlp_layer_types") && !reader.child("mlp_layer_types")->is_null();
  if (has_types) {  // the truth, where first_k_dense_replace says otherwise
    config.is_sparse = two_words(reader, "mlp_layer_types", layer_count, "sparse", "dense");
    reader.child("first_k_dense_replace");
  } else {
    const auto dense_count = static_cast<std::int64_t>(reader.whole_number("first_k_dense_replace", size_max));
    for (std::int64_t i = 0; i < layer_count; i++) config.is_sparse.push_back(i >= dense_count);
  }
  if (layer_count > 0 && std::find(config.is_sparse.begin(), config.is_sparse.end(), true) == config.is_sparse.end())
    reader.problem("mlp_layer_types", "dense layers only", "at least one layer with experts");
  const Json* kinds = reader.child("layer_types");
  if (kinds == nullptr || kinds->is_null()) return;
  const auto is_known = [](const Json& kind) { return kind == "deepseek_sparse_attention" || kind == "indexed_attention"; };
  if (!kinds->is_array() || static_cast<std::int64_t>(kinds->size()) != layer_count || !std::all_of(kinds->begin(), kinds->end(), is_known))
    reader.problem("layer_types", kinds->dump(), "num_hidden_layers times \"deepseek_sparse_attention\"", "a variant that is not implemented");
}

void read_eos(Reader& reader, GlmMoeDsaConfig& config) {
  const Json* eos = reader.child("eos_token_id");
  if (eos == nullptr || eos->is_null()) return;
  for (const Json& id : eos->is_array() ? *eos : Json::array({*eos})) {
    const std::optional<std::uint64_t> value = whole_number(id, size_max);
    if (!value) reader.problem("eos_token_id", eos->dump(), "a token id or a list of them");
    config.eos_token_ids.push_back(static_cast<std::int64_t>(value.value_or(0)));
  }
}

}  // namespace

GlmMoeDsaConfig read_glm_moe_dsa_config(const Json& json, const std::string& where) {
  std::vector<Problem> problems;
  if (!json.is_object()) throw Error(Problem{where, json_type_name(json), "an object", ""});
  Reader reader(json, where, problems);
  GlmMoeDsaConfig config;
  for (const char* key : keys_without_effect) reader.child(key);
  reader.only("model_type", "glm_moe_dsa");
  read_sizes(reader, config);
  read_router(reader, config);
  read_rope(reader, config, where, problems);
  read_layer_kinds(reader, config);
  read_eos(reader, config);
  reader.only("num_key_value_heads", config.num_attention_heads);
  for (const char* key : {"attention_bias", "mlp_bias", "tie_word_embeddings"}) reader.only(key, false);
  for (const char* key : {"rope_interleave", "indexer_rope_interleave"}) reader.only(key, true);
  reader.only("hidden_act", "silu");
  reader.only("scoring_func", "sigmoid");
  reader.only("topk_method", "noaux_tc");
  reader.only("moe_layer_freq", 1);
  reader.only("moe_router_dtype", "float32");
  reader.refuse_unknown();
  throw_if_any(std::move(problems));
  return config;
}

}  // namespace atlas
