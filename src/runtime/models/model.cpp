// See model.h. The list of architectures.
#include "runtime/models/model.h"

#include "runtime/models/glm_moe_dsa.h"

namespace atlas {

std::unique_ptr<Model> open_model(const Checkpoint& checkpoint) {
  const auto type = checkpoint.config().find("model_type");
  const std::string model_type = type != checkpoint.config().end() && type->is_string() ? type->get<std::string>() : "";
  if (model_type == "glm_moe_dsa") return open_glm_moe_dsa(checkpoint);
  throw Error(Problem{checkpoint.config_path() + ", model_type", model_type.empty() ? "none" : model_type, "glm_moe_dsa",
                      "an architecture that is not implemented"});
}

}  // namespace atlas
