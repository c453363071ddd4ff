#include <medley/weights/pretrained_weights.h>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <utility>

#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>
#include <medley/base/work_progress.h>
#include <medley/model/adapters.h>
#include <medley/model/parameter_names.h>
#include <medley/weights/safetensors_file.h>

namespace medley {
namespace {

constexpr const char* kEmbedding = "model.embed_tokens.weight";
constexpr const char* kHead = "lm_head.weight";
constexpr std::int64_t kRowsAtOnce = 64;

// Of older Llama folders: each layer's angles, which are computed from config.json. transformers passes over
// them by this name, too.
bool IsRotaryBuffer(const std::string& name) { return name.find("rotary_emb.inv_freq") != std::string::npos; }

// "12 parameters (a, b, c and 9 more)" of "parameter".
std::string Some(const std::set<std::string>& names, const std::string& what) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() < kShown) shown.push_back(name);
  }
  const std::size_t more = names.size() - shown.size();
  return std::to_string(names.size()) + " " + what + (names.size() == 1 ? " (" : "s (") + JoinNames(shown) +
         (more > 0 ? " and " + std::to_string(more) + " more)" : ")");
}

}  // namespace

PretrainedWeights::PretrainedWeights(Setting setting, const std::vector<Parameter>& parameters)
    : setting_(std::move(setting)), files_(setting_.directory) {
  Problems problems;
  Take(parameters, problems);
  CheckRest(problems);
  ThrowProblems(setting_.directory, problems);
}

void PretrainedWeights::Take(const std::vector<Parameter>& parameters, Problems& problems) {
  for (const std::string& pattern : setting_.allow_missing) {
    if (std::ranges::none_of(parameters,
                             [&](const Parameter& parameter) { return Matches(parameter, pattern); }))
      problems.push_back("allow_missing: no parameter of the model matches '" + Printable(pattern) + "'");
  }
  for (const Parameter& parameter : parameters) {
    if (IsAdapter(parameter.name)) continue;
    const std::string published = PublishedName(parameter.name, setting_.root);
    const std::string name = published.empty() ? parameter.name : published;
    if (published.empty() && !files_.has_image()) {
      fresh_.insert(parameter.name);
    } else if (files_.Find(name) != nullptr) {
      Compare(parameter, name, problems);
    } else if (std::ranges::any_of(setting_.allow_missing,
                                   [&](const std::string& pattern) { return Matches(parameter, pattern); })) {
      fresh_.insert(parameter.name);
    } else {
      problems.push_back(name + ": missing; expected " + TypeAndShape(at::kFloat, parameter.tensor.sizes()) +
                         (published.empty() ? std::string(" in ") + kImageWeightsFile : "") +
                         (name == kHead
                              ? "; \"allow_missing\": [\"lm_head.*\"] begins it anew, as transformers "
                                "does of a folder without"
                              : ""));
    }
  }
}

void PretrainedWeights::Compare(const Parameter& parameter, const std::string& name, Problems& problems) {
  const SafetensorsFile::Entry& found = *files_.Find(name);
  used_.insert(name);
  std::vector<std::int64_t> expected = parameter.tensor.sizes().vec();
  if (IsTokenTable(name)) expected.front() = setting_.rows;
  if (found.shape != expected || !IsWeightType(found.type)) {
    problems.push_back(name + ": expected " + TypeAndShape(at::kFloat, expected) + " (or BF16, F16), found " +
                       TypeAndShape(found.type, found.shape));
    return;
  }
  given_.insert(parameter.name);
  sources_[parameter.name] = name;
}

void PretrainedWeights::CheckRest(Problems& problems) {
  std::set<std::string> needless(setting_.allow_unexpected.begin(), setting_.allow_unexpected.end());
  const auto is_allowed = [&](const std::string& name, const std::string& name_there) {
    bool found = false;
    for (const std::string& pattern : setting_.allow_unexpected) {
      if (!Matches(name, pattern) && !Matches(name_there, pattern)) continue;
      needless.erase(pattern);
      found = true;
    }
    return found;
  };
  for (const auto& [name, place] : files_.tensors()) {
    if (used_.count(name) > 0 || IsRotaryBuffer(name)) continue;
    const bool is_tied = name == kHead && used_.count(kEmbedding) > 0;
    if (!is_tied && is_allowed(name, place.name)) {
      aside_.insert(place.name);
      continue;
    }
    const std::string problem =
        is_tied ? HeadProblem()
                : "unexpected: the model has no such parameter; \"allow_unexpected\" with a pattern of its "
                  "name leaves it aside";
    if (!problem.empty())
      problems.push_back(CutText(place.name, 256) + ": " + problem + " (" +
                         place.file->path().filename().string() + ")");
  }
  for (const std::string& pattern : needless)
    problems.push_back("allow_unexpected: no tensor that the model lacks matches '" + Printable(pattern) +
                       "'");
}

// Of a model that ties it to the embedding.
std::string PretrainedWeights::HeadProblem() const {
  const SafetensorsFile::Entry &head = *files_.Find(kHead), &embedding = *files_.Find(kEmbedding);
  const bool same = head.shape == embedding.shape && head.type == embedding.type && IsWeightType(head.type) &&
                    at::equal(files_.Map(kHead), files_.Map(kEmbedding));
  return same ? "" : std::string("differs from ") + kEmbedding + ", to which config.json ties it";
}

void PretrainedWeights::Fill(const std::vector<Parameter>& parameters, const Tokens& tokens,
                             const TypeOf& type) const {
  const at::NoGradGuard no_grad;
  WorkProgress progress;
  const std::string words = "reading " + DisplayPath(setting_.directory);
  double done = 0, all = 0;
  for (const Parameter& parameter : parameters) all += static_cast<double>(parameter.tensor.numel());
  for (const Parameter& parameter : parameters) {
    progress.Say(words, done, all);
    done += static_cast<double>(parameter.tensor.numel());
    const auto source = sources_.find(parameter.name);
    if (source == sources_.end()) continue;
    const at::Tensor values = files_.MapFinite(source->second);
    const at::Tensor own = at::empty(parameter.tensor.sizes(), type(parameter));
    if (IsTokenTable(source->second)) {
      own.narrow(0, 0, setting_.rows).copy_(values);
      FillNewRows(own, tokens);
    } else {
      own.copy_(values);
    }
    parameter.tensor.set_data(own);
  }
}

void PretrainedWeights::FillNewRows(const at::Tensor& table, const Tokens& tokens) const {
  std::vector<std::int64_t> added = tokens.added, known;
  for (std::int64_t id = setting_.rows; id < table.size(0); ++id) added.push_back(id);
  std::ranges::sort(added);
  added.erase(std::unique(added.begin(), added.end()), added.end());
  for (std::int64_t id = 0; id < std::min(tokens.count, setting_.rows); ++id) {
    if (!std::ranges::binary_search(added, id)) known.push_back(id);
  }
  if (added.empty()) return;
  at::Tensor sum = at::zeros({table.size(1)}, at::kDouble);
  const at::Tensor ids = at::tensor(known, at::kLong);
  for (const at::Tensor& some : ids.split(kRowsAtOnce))
    sum += table.index_select(0, some).to(at::kDouble).sum(0);
  table.index_copy_(0, at::tensor(added, at::kLong),
                    (sum / std::max(1.0, static_cast<double>(known.size())))
                        .to(table.scalar_type())
                        .expand({static_cast<std::int64_t>(added.size()), table.size(1)}));
}

std::string PretrainedWeights::Words() const {
  std::string words =
      "took " + std::to_string(given_.size()) + " parameters from " + DisplayPath(setting_.directory);
  if (!fresh_.empty())
    words += "; " + Some(fresh_, "parameter") + (fresh_.size() == 1 ? " begins" : " begin") + " anew";
  if (!aside_.empty()) words += "; left aside: " + Some(aside_, "tensor");
  return words;
}

}  // namespace medley
