#include <medley/weights/peft_weights.h>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>
#include <utility>

#include <medley/base/files.h>
#include <medley/base/utf8.h>
#include <medley/model/parameter_names.h>
#include <medley/weights/pretrained_files.h>

namespace medley {
namespace {

constexpr const char* kPeftRoot = "base_model.model.";
constexpr const char* kPeftRows = ".token_adapter.trainable_tokens_delta";

std::string_view WithoutEnd(std::string_view name, std::string_view end) {
  return name.substr(0, name.size() - end.size());
}

}  // namespace

std::string PeftName(const std::string& parameter, const std::string& root) {
  std::string name = kPeftRoot + parameter.substr(root.size());
  if (name.ends_with(kRowChanges))
    name.replace(name.size() - std::string_view(kRowChanges).size(), std::string::npos, kPeftRows);
  return name;
}

PeftWeights::PeftWeights(std::filesystem::path directory, std::string root, const Adapters& adapters,
                         const std::vector<Parameter>& parameters)
    : directory_(std::move(directory)),
      root_(std::move(root)),
      adapters_(adapters),
      config_(ReadPeftConfig(directory_)),
      file_(directory_ / kPeftWeightsFile) {
  Problems problems;
  for (const Parameter& parameter : parameters) {
    if (IsAdapter(parameter.name)) Take(parameter, problems);
  }
  std::set<std::string> used;
  for (const auto& [parameter, source] : sources_) used.insert(source);
  for (const auto& [name, entry] : file_.entries()) {
    if (used.count(name) == 0)
      problems.push_back(CutText(name, 256) + ": unexpected; the model has no such adapter");
  }
  ThrowProblems(directory_, problems);
}

void PeftWeights::Take(const Parameter& parameter, Problems& problems) {
  const std::string name = PeftName(parameter.name, root_);
  std::vector<std::int64_t> shape = parameter.tensor.sizes().vec();
  const bool rows = parameter.name.ends_with(kRowChanges);
  if (rows) {
    const bool of_head = parameter.name == root_ + "lm_head" + kRowChanges;
    const std::vector<std::int64_t>& tokens = of_head ? config_.head_tokens : config_.embedding_tokens;
    for (const std::int64_t token : tokens) {
      if (!std::ranges::binary_search(adapters_.tokens, token))
        problems.push_back(name + ": has a row of token " + std::to_string(token) +
                           ", which the run does not train");
    }
    shape.front() = std::ssize(tokens);
    if (shape.front() == 0) return;  // they begin as the table's
  }
  const auto found = file_.entries().find(name);
  if (found == file_.entries().end()) {
    problems.push_back(name + ": missing; expected " + TypeAndShape(at::kFloat, shape));
    return;
  }
  const SafetensorsFile::Entry& entry = found->second;
  sources_[parameter.name] = name;
  if (entry.shape != shape || !IsWeightType(entry.type))
    problems.push_back(name + ": expected " + TypeAndShape(at::kFloat, shape) + " (or BF16, F16), found " +
                       TypeAndShape(entry.type, entry.shape));
}

void PeftWeights::Fill(const std::vector<Parameter>& parameters) const {
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : parameters) {  // rows that the folder has not begin as the table's
    if (parameter.name.ends_with(kRowChanges)) parameter.tensor.detach().zero_();
  }
  for (const auto& [name, source] : sources_) {
    const at::Tensor parameter = TensorNamed(parameters, name).detach();
    if (!name.ends_with(kRowChanges)) {
      parameter.copy_(file_.MapFinite(source));
      continue;
    }
    const std::string table = std::string(WithoutEnd(name, kRowChanges)) + ".weight";
    FillRows(parameter, TensorNamed(parameters, table).detach(), source);
  }
}

void PeftWeights::FillRows(const at::Tensor& changes, const at::Tensor& table,
                           const std::string& source) const {
  const bool of_head = source == PeftName("lm_head" + std::string(kRowChanges), "");
  const std::vector<std::int64_t>& tokens = of_head ? config_.head_tokens : config_.embedding_tokens;
  std::vector<std::int64_t> places;
  for (const std::int64_t token : tokens) {
    const auto place = std::ranges::lower_bound(adapters_.tokens, token);
    places.push_back(place - adapters_.tokens.begin());
  }
  const at::Tensor rows = table.index_select(0, at::tensor(tokens, at::kLong).to(table.device()));
  const at::ScalarType type = at::promoteTypes(changes.scalar_type(), at::kFloat);
  const at::Tensor apart = file_.MapFinite(source).to(table.device(), type) - rows.to(type);
  changes.index_copy_(0, at::tensor(places, at::kLong).to(table.device()), apart.to(changes.scalar_type()));
}

std::string PeftWeights::Words() const {
  return "took " + std::to_string(sources_.size()) + " tensors of adapters from " + DisplayPath(directory_);
}

}  // namespace medley
