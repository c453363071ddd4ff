#include <medley/weights/pretrained_weights.h>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <charconv>
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

// Of older Llama folders: each layer's angles, which are computed from config.json; and of older CLIPs' the
// numbers of positions. transformers passes over them by these names, too.
bool IsBuffer(const std::string& name) {
  return name.find("rotary_emb.inv_freq") != std::string::npos || name.ends_with("embeddings.position_ids");
}

constexpr const char* kTowerLayers = "encoder.layers.";

// "12" of "12.mlp.fc1.weight"; below 0 where there is no number.
std::int64_t LayerOf(const std::string& name) {
  std::int64_t layer = -1;
  std::from_chars(name.data(), name.data() + name.size(), layer);
  return layer;
}

// What comes behind the state that is taken of a tower: closing norms, heads, further layers.
bool IsBehind(const std::string& name, std::int64_t layers) {
  if (name.starts_with("post_layernorm.") || name.starts_with("head.")) return true;
  const std::string begin = kTowerLayers;
  return name.starts_with(begin) && LayerOf(name.substr(begin.size())) >= layers;
}
// Of a CLIP or a SigLIP: what texts go through, and what compares them with pictures.
bool IsOfTextTower(const std::string& name) {
  return name.starts_with("text_model.") || name == "text_projection.weight" ||
         name == "visual_projection.weight" || name == "logit_scale" || name == "logit_bias";
}
bool IsOfTower(const std::string& name) {
  return name.starts_with(kTowerNames) || name.starts_with(kProjectorNames);
}

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
    : setting_(std::move(setting)) {
  const std::filesystem::path &language = setting_.directory, &tower = setting_.tower.directory;
  if (!language.empty()) files_ = &folders_.emplace_back(language);
  if (!tower.empty()) tower_files_ = tower == language ? files_ : &folders_.emplace_back(tower);
  const std::string layers = setting_.tower.root + kTowerLayers;
  for (const Parameter& parameter : parameters) {
    if (tower_files_ != nullptr && parameter.name.starts_with(layers))
      tower_layers_ = std::max(tower_layers_, LayerOf(parameter.name.substr(layers.size())) + 1);
  }
  Problems problems;
  Take(parameters, problems);
  CheckRest(problems);
  ThrowProblems(language.empty() ? tower : language, problems);
}

PretrainedWeights::Source PretrainedWeights::SourceOf(const std::string& parameter) const {
  const Setting::Tower& tower = setting_.tower;
  if (!tower.projector.empty() && parameter.starts_with(tower.projector))
    return {.files = tower.projects ? tower_files_ : nullptr,
            .name = kProjectorNames + parameter.substr(tower.projector.size())};
  if (!tower.root.empty() && parameter.starts_with(tower.root))
    return {.files = tower_files_, .name = kTowerNames + parameter.substr(tower.root.size())};
  if (std::string published = PublishedName(parameter, setting_.root); !published.empty())
    return {.files = files_, .name = std::move(published)};
  const bool has_others = files_ != nullptr && files_->has_image();
  return {.files = has_others ? files_ : nullptr, .name = parameter};
}

void PretrainedWeights::Take(const std::vector<Parameter>& parameters, Problems& problems) {
  for (const std::string& pattern : setting_.allow_missing) {
    if (std::ranges::none_of(parameters,
                             [&](const Parameter& parameter) { return Matches(parameter, pattern); }))
      problems.push_back("allow_missing: no parameter of the model matches '" + Printable(pattern) + "'");
  }
  for (const Parameter& parameter : parameters) {
    if (IsAdapter(parameter.name)) continue;
    const Source source = SourceOf(parameter.name);
    const std::string& name = source.name;
    if (source.files == nullptr) {
      fresh_.insert(parameter.name);
    } else if (source.files->Find(name) != nullptr) {
      Compare(parameter, source, problems);
    } else if (std::ranges::any_of(setting_.allow_missing,
                                   [&](const std::string& pattern) { return Matches(parameter, pattern); })) {
      fresh_.insert(parameter.name);
    } else {
      problems.push_back(
          name + ": missing; expected " + TypeAndShape(at::kFloat, parameter.tensor.sizes()) +
          (name == parameter.name && PublishedName(name, setting_.root).empty() && !IsOfTower(name)
               ? std::string(" in ") + kImageWeightsFile
               : "") +
          (name == kHead ? "; \"allow_missing\": [\"lm_head.*\"] begins it anew, as transformers "
                           "does of a folder without"
                         : "") +
          Where(*source.files));
    }
  }
}

void PretrainedWeights::Compare(const Parameter& parameter, const Source& source, Problems& problems) {
  const std::string& name = source.name;
  const SafetensorsFile::Entry& found = *source.files->Find(name);
  used_.insert(source);
  std::vector<std::int64_t> expected = parameter.tensor.sizes().vec();
  if (IsTokenTable(name)) expected.front() = setting_.rows;
  if (found.shape != expected || !IsWeightType(found.type)) {
    problems.push_back(name + ": expected " + TypeAndShape(at::kFloat, expected) + " (or BF16, F16), found " +
                       TypeAndShape(found.type, found.shape) + Where(*source.files));
    return;
  }
  given_.insert(parameter.name);
  sources_[parameter.name] = source;
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
  const auto check = [&](const PretrainedFiles& files, const std::string& name,
                         const PretrainedFiles::Place& place) {
    const auto is_used = [&](const char* one) { return used_.contains({.files = &files, .name = one}); };
    if (is_used(name.c_str()) || IsBuffer(name)) return;
    const bool is_tied = name == kHead && is_used(kEmbedding);
    if (!is_tied && (is_allowed(name, place.name) || IsOfOtherPart(files, name))) {
      aside_.insert(place.name);
      return;
    }
    const std::string problem =
        is_tied ? HeadProblem()
                : "unexpected: the model has no such parameter; \"allow_unexpected\" with a pattern of its "
                  "name leaves it aside";
    if (!problem.empty())
      problems.push_back(CutText(place.name, 256) + ": " + problem + " (" +
                         place.file->path().filename().string() + ")" + Where(files));
  };
  for (const PretrainedFiles& files : folders_) {
    for (const auto& [name, place] : files.tensors()) check(files, name, place);
  }
  for (const std::string& pattern : needless)
    problems.push_back("allow_unexpected: no tensor that the model lacks matches '" + Printable(pattern) +
                       "'");
}

bool PretrainedWeights::IsOfOtherPart(const PretrainedFiles& files, const std::string& name) const {
  const bool is_projector = name.starts_with(kProjectorNames);
  if (is_projector || name.starts_with(kTowerNames)) {
    // Of a LLaVA, by the names that it has there: of another folder they are as unexpected as any.
    const std::string& there = files.tensors().at(name).name;
    if (&files != tower_files_)
      return there.find(kTowerNames) != there.npos || there.find(kProjectorNames) != there.npos;
    if (is_projector) return !setting_.tower.projects;
    const std::string inside = name.substr(std::string(kTowerNames).size());
    const bool is_before = inside.starts_with("embeddings.") || inside.starts_with("pre_layrnorm.");
    return IsBehind(inside, tower_layers_) || (is_before && setting_.tower.layers_only);
  }
  if (&files == files_) return false;
  const bool is_of_language = !PublishedName(name, "").empty();
  return is_of_language || IsOfTextTower(name) ||
         files.tensors().at(name).file->path().filename() == kImageWeightsFile;
}

// Of a model that ties it to the embedding.
std::string PretrainedWeights::HeadProblem() const {
  const SafetensorsFile::Entry &head = *files_->Find(kHead), &embedding = *files_->Find(kEmbedding);
  const bool same = head.shape == embedding.shape && head.type == embedding.type && IsWeightType(head.type) &&
                    at::equal(files_->Map(kHead), files_->Map(kEmbedding));
  return same ? "" : std::string("differs from ") + kEmbedding + ", to which config.json ties it";
}

void PretrainedWeights::Fill(const std::vector<Parameter>& parameters, const Tokens& tokens,
                             const TypeOf& type) const {
  const at::NoGradGuard no_grad;
  WorkProgress progress;
  const std::string words = "reading " + FolderWords();
  double done = 0, all = 0;
  for (const Parameter& parameter : parameters) all += static_cast<double>(parameter.tensor.numel());
  for (const Parameter& parameter : parameters) {
    progress.Say(words, done, all);
    done += static_cast<double>(parameter.tensor.numel());
    const auto source = sources_.find(parameter.name);
    if (source == sources_.end()) continue;
    const at::Tensor values = source->second.files->MapFinite(source->second.name);
    const at::Tensor own = at::empty(parameter.tensor.sizes(), type(parameter));
    if (IsTokenTable(source->second.name)) {
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

std::string PretrainedWeights::Where(const PretrainedFiles& files) const {
  const bool is_other = files_ != nullptr && &files == tower_files_ && tower_files_ != files_;
  return is_other ? "; in " + DisplayPath(setting_.tower.directory) : "";
}

std::string PretrainedWeights::FolderWords() const {
  const std::filesystem::path &language = setting_.directory, &tower = setting_.tower.directory;
  if (language.empty()) return DisplayPath(tower);
  return DisplayPath(language) + (tower.empty() || tower == language ? "" : " and " + DisplayPath(tower));
}

std::string PretrainedWeights::Words() const {
  std::string words = "took " + std::to_string(given_.size()) + " parameters from " + FolderWords();
  if (!fresh_.empty())
    words += "; " + Some(fresh_, "parameter") + (fresh_.size() == 1 ? " begins" : " begin") + " anew";
  if (!aside_.empty()) words += "; left aside: " + Some(aside_, "tensor");
  return words;
}

}  // namespace medley
