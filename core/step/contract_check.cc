#include <medley/step/contract_check.h>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/model/device.h>
#include <medley/step/pass_runner.h>
#include <medley/step/second_run.h>
#include <medley/task/pass_images.h>

namespace medley {
namespace {

using torch::autograd::Node;

struct PassRun {
  const PassInfo* pass;
  PassRecord record;
  Sums sums;
};

// What the graph of one pass reaches outside of itself.
struct Reached {
  std::set<std::string> carries;
  std::map<std::size_t, std::string> passes;  // undeclared: number of the pass, name of a node of it
};

Node* NodeOf(const at::Tensor& tensor) { return tensor.defined() ? tensor.grad_fn().get() : nullptr; }

// One check: walks graphs, collects differences.
class Comparison {
 public:
  Comparison(LoadedTask& task, const Model& model, MicroBatch& micro)
      : task_(task), model_(model), micro_(micro) {}

  void Run() {
    for (const PassInfo& pass : task_.variant().passes) {
      runs_.push_back({.pass = &pass, .record = {}, .sums = {}});
      runs_.back().sums = micro_.RunPass(pass, &runs_.back().record);
    }
    for (const PassRun& run : runs_) ComparePass(run);
    CompareTerms();
    CompareConstants();
    CompareGraphs();
  }
  // What the passes gave, without graphs.
  PassValues Values() const;
  void CompareGenerators(bool unmoved) {
    if (unmoved) return;
    differences_.push_back(
        "a pass drew from libtorch's own generator, so that a second run of it, or other micro-batches, "
        "would "
        "draw other numbers; take them from the context's Seed and the number of the row");
  }
  const std::vector<std::string>& differences() const { return differences_; }

 private:
  void Differ(const std::string& what, const std::string& declared, const std::string& observed) {
    differences_.push_back(what + ": the spec says " + declared + ", but it was " + observed);
  }
  void ComparePass(const PassRun& run);
  void CompareImages(const PassRun& run, const std::string& name);
  void CompareTerms();
  void CompareConstants();
  void CompareGraphs();
  void CompareReads(const PassRun& run, const Reached& reached);
  Reached Walk(std::size_t index) const;
  bool InEncoding(std::uint64_t node) const;
  bool EverythingTrains() const;

  LoadedTask& task_;
  const Model& model_;
  MicroBatch& micro_;
  std::vector<PassRun> runs_;
  std::vector<std::string> differences_;
};

void Comparison::CompareImages(const PassRun& run, const std::string& name) {
  std::vector<std::string> declared, got;
  for (const std::string& image : run.pass->images) declared.push_back(image);
  for (const std::string& key : run.record.images) {
    got.push_back(key.empty() ? "a picture that is no column and no carry" : NameOfKey(key));
  }
  if (declared != got) Differ(name + "pictures that the model got, in order", Listed(declared), Listed(got));
}

void Comparison::ComparePass(const PassRun& run) {
  const std::string name = "pass '" + run.pass->name + "', ";
  CompareImages(run, name);
  if (run.record.text_width > run.pass->text_width) {
    Differ(name + "text width", "at most " + std::to_string(run.pass->text_width),
           std::to_string(run.record.text_width));
  }
  const bool decodes = run.record.outputs.count("image") > 0;
  if (decodes != run.pass->decodes_image) {
    Differ(name + "asks the model for a picture", run.pass->decodes_image ? "yes" : "no",
           decodes ? "yes" : "no");
  }
  const auto compare_names = [&](const char* what, const std::set<std::string>& used,
                                 const std::vector<std::string>& declared) {
    for (const std::string& one : used) {
      if (std::find(declared.begin(), declared.end(), one) == declared.end())
        Differ(name + what, Listed(declared), one);
    }
  };
  compare_names("model inputs", run.record.inputs, task_.info().inputs);
  compare_names("model outputs", run.record.outputs, task_.info().outputs);
}

void Comparison::CompareTerms() {
  for (const TermInfo& term : task_.variant().terms) {
    bool found = false, trains = false;
    for (const PassRun& run : runs_) {
      const auto sum = run.sums.find(term.name);
      if (sum == run.sums.end()) continue;
      found = true;
      trains = trains || sum->second.requires_grad();
    }
    if (!found) Differ("term '" + term.name + "'", "that it is computed", "returned by no pass");
    if (!found || trains || term.weight == 0 || !EverythingTrains()) continue;
    differences_.push_back("no pass returns the term '" + term.name +
                           "' with a graph, so it would teach nothing; compute it from the model's outputs "
                           "without detaching them, or give it the weight 0 if it is a figure to log");
  }
}

void Comparison::CompareConstants() {
  std::set<std::string> asked;
  for (const PassRun& run : runs_) asked.insert(run.record.constants.begin(), run.record.constants.end());
  for (const ConstantInfo& constant : task_.info().constants) {
    if (asked.count(constant.name) == 0) {
      Differ("constant '" + constant.name + "'", "that it is used",
             "asked for by no pass (asked for: " + Listed(asked) + ")");
    }
  }
}

bool Comparison::InEncoding(std::uint64_t node) const {
  const auto& ranges = micro_.encodings().node_ranges();
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& range) { return node >= range.first && node < range.second; });
}

// Back from what the pass made, to carries that it was handed (declared edges, where the walk ends) and to
// nodes of other passes (which nobody declared). Shared encodings belong to no pass: walked through.
Reached Comparison::Walk(std::size_t index) const {
  const PassRun& run = runs_[index];
  std::unordered_map<const Node*, std::string> handed;
  for (const std::string& carry : run.record.carries_read)
    handed.emplace(NodeOf(micro_.carries().find(carry)->second), carry);
  handed.erase(nullptr);

  Reached reached;
  std::unordered_set<const Node*> seen;
  std::vector<Node*> open;
  const auto visit = [&](Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const auto& [term, sum] : run.sums) visit(NodeOf(sum));
  for (const std::string& carry : run.pass->carries) visit(NodeOf(micro_.carries().find(carry)->second));

  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    if (const auto carry = handed.find(node); carry != handed.end()) {
      reached.carries.insert(carry->second);
      continue;
    }
    const std::uint64_t number = node->sequence_nr();  // of a leaf's node: the largest there is, in no range
    bool foreign = false;
    for (std::size_t other = 0; other < runs_.size() && !InEncoding(number); ++other) {
      const PassRecord& range = runs_[other].record;
      if (other == index || number < range.first_node || number >= range.end_node) continue;
      reached.passes.emplace(other, node->name());
      foreign = true;
    }
    if (foreign) continue;
    for (const auto& edge : node->next_edges()) visit(edge.function.get());
  }
  return reached;
}

PassValues Comparison::Values() const {
  PassValues values;
  for (const PassRun& run : runs_) {
    Sums& sums = values.sums.emplace_back();
    for (const auto& [term, sum] : run.sums) sums[term] = sum.detach();
  }
  for (const auto& [carry, value] : micro_.carries()) values.carries[carry] = value.detach();
  return values;
}

// With frozen parameters a carry may lack a graph through no fault of the task's.
bool Comparison::EverythingTrains() const {
  return std::all_of(model_.parameters().begin(), model_.parameters().end(),
                     [](const Parameter& parameter) { return parameter.tensor.requires_grad(); });
}

void Comparison::CompareReads(const PassRun& run, const Reached& reached) {
  if (!EverythingTrains()) return;
  for (const std::string& carry : run.record.carries_read) {
    if (reached.carries.count(carry) > 0) continue;
    differences_.push_back("pass '" + run.pass->name + "' reads the carry '" + carry +
                           "', but no gradient of it flows back there; hand the carry over without detaching "
                           "it, or make it no carry");
  }
}

void Comparison::CompareGraphs() {
  std::set<std::string> read;
  for (std::size_t index = 0; index < runs_.size(); ++index) {
    const Reached reached = Walk(index);
    const PassRun& run = runs_[index];
    read.insert(run.record.carries_read.begin(), run.record.carries_read.end());
    for (const auto& [other, node] : reached.passes) {
      differences_.push_back("pass '" + run.pass->name + "' depends on pass '" + runs_[other].pass->name +
                             "' through a tensor that is no declared carry (its graph reaches " + node +
                             " there), so that every mode but joint would lose its gradient; hand the tensor "
                             "over with Carry and Carried, and declare it");
    }
    CompareReads(run, reached);
  }
  for (const auto& [carry, value] : micro_.carries()) {
    if (read.count(carry) == 0)
      Differ("carry '" + carry + "'", "that a later pass reads it", "read by no pass");
  }
}

}  // namespace

void CheckContract(LoadedTask& task, const Batch& one_row, const Model& model, at::Device device) {
  CheckItems(task, one_row);
  const at::AutoGradMode with_gradients(true);
  const MicroBatch::Setting setting{.task = task, .model = model, .device = device};
  std::vector<std::string> differences;
  PassValues values;
  {
    MicroBatch micro(setting, one_row);
    Comparison comparison(task, model, micro);
    const nlohmann::json generators = SaveGenerators(device);
    comparison.Run();
    comparison.CompareGenerators(generators == SaveGenerators(device));
    differences = comparison.differences();
    values = comparison.Values();
  }
  if (differences.empty()) differences = CompareSecondRun(setting, one_row, values);
  if (differences.empty()) return;
  std::string message = "task '" + task.info().name + "' (variant '" + task.variant().name +
                        "') does not do what its spec says; make the two agree:";
  for (const std::string& difference : differences) message += "\n  " + difference;
  throw Error(message);
}

}  // namespace medley
