#include <medley/contract/contract_comparison.h>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/contract/contract_items.h>
#include <medley/task/pass_images.h>

namespace medley {
namespace {

using torch::autograd::Node;

Node* NodeOf(const at::Tensor& tensor) { return tensor.defined() ? tensor.grad_fn().get() : nullptr; }

bool InEncoding(const MicroBatch& micro, std::uint64_t node) {
  const auto& ranges = micro.encodings().node_ranges();
  return std::ranges::any_of(ranges,
                             [&](const auto& range) { return node >= range.first && node < range.second; });
}

}  // namespace

void ContractComparison::Add(const std::string& difference) {
  if (std::ranges::find(differences_, difference) == differences_.end()) differences_.push_back(difference);
}

void ContractComparison::Differ(const std::string& what, const std::string& declared,
                                const std::string& observed) {
  Add(what + ": the spec says " + declared + ", but it was " + observed);
}

PassValues ContractComparison::Add(const Batch& one_row) {
  const at::AutoGradMode with_gradients(true);
  MicroBatch micro(setting_, one_row);
  Row row{.micro = micro, .traces = {}};
  LearnedItems learned;
  for (const PassInfo& pass : setting_.task.variant().passes) {
    PassTrace& trace = row.traces.emplace_back(PassTrace{.pass = &pass, .record = {}, .sums = {}});
    trace.record.keeps_outputs = true;
    trace.sums = micro.RunPass(pass, &trace.record);
    learned.Add(trace.sums, trace.record.made);
    trace.record.made.clear();  // or they would add to what all graphs hold
  }
  if (!items_differ_) {
    for (const std::string& difference : learned.Compare(setting_.task, one_row)) {
      Add(difference);
      items_differ_ = true;
    }
  }
  PassValues values;
  for (const PassTrace& trace : row.traces) {
    ComparePass(trace);
    Sums& sums = values.sums.emplace_back();
    for (const auto& [term, sum] : trace.sums) {
      returned_.insert(term);
      if (sum.requires_grad()) trained_.insert(term);
      sums[term] = sum.detach();
    }
    constants_.insert(trace.record.constants.begin(), trace.record.constants.end());
    inputs_.insert(trace.record.inputs.begin(), trace.record.inputs.end());
  }
  CompareGraphs(row);
  for (const auto& [carry, value] : micro.carries()) {
    carries_made_.insert(carry);
    values.carries[carry] = value.detach();
  }
  return values;
}

std::vector<std::string> ContractComparison::Finish(bool generators_unmoved) {
  CheckSomethingTrains();
  FinishInputs();
  FinishTerms();
  FinishConstants();
  FinishCarries();
  if (!generators_unmoved) {
    Add("a pass drew from libtorch's own generator, so that a second run of it, or other micro-batches, "
        "would draw other numbers; draw in Sample, from rows.Random(row), and hand the numbers over as a "
        "column, or in the pass, for row i from RowRandom(CombineSeeds(context.Seed(\"action\"), "
        "context.batch().rows().begin + i)); a model drops with a Dropout, or draws from the seed of its "
        "forward's context");
  }
  return differences_;
}

void ContractComparison::CompareImages(const PassTrace& trace, const std::string& name) {
  std::vector<std::string> declared, got;
  for (const std::string& image : trace.pass->images) declared.push_back(image);
  for (const std::string& key : trace.record.images) {
    got.push_back(key.empty() ? "a picture that is no column and no carry" : NameOfKey(key));
  }
  if (declared != got) Differ(name + "pictures that the model got, in order", Listed(declared), Listed(got));
}

void ContractComparison::CompareSizes(const PassInfo& pass, const PassRecord& record) {
  for (const ModelSize& size : setting_.model.spec().sizes) {
    const auto found = record.sizes.find(size.name);
    const std::int64_t most = pass.Size(size.name);
    // Items are bounded by those of the terms, and pictures were compared by name.
    if (size.ragged || size.name == "images" || found == record.sizes.end()) continue;
    if (found->second > most)
      Differ("pass '" + pass.name + "', the model's size '" + std::string(size.name) + "'",
             "at most " + std::to_string(most), std::to_string(found->second));
  }
}

void ContractComparison::AddLongest(const Batch& one_row) {
  const at::NoGradGuard no_graph;
  MicroBatch micro(setting_, one_row);
  for (const PassInfo& pass : setting_.task.variant().passes) {
    PassRecord record;
    micro.RunPass(pass, &record);
    CompareSizes(pass, record);
  }
}

void ContractComparison::ComparePass(const PassTrace& trace) {
  const std::string name = "pass '" + trace.pass->name + "', ";
  CompareImages(trace, name);
  CompareSizes(*trace.pass, trace.record);
  const bool decodes = trace.record.outputs.count("image") + trace.record.outputs.count("drawing") > 0;
  if (decodes != trace.pass->decodes_image) {
    Differ(name + "asks the model for a picture", trace.pass->decodes_image ? "yes" : "no",
           decodes ? "yes" : "no");
  }
  const auto compare_names = [&](const char* what, const std::set<std::string>& used,
                                 const std::vector<std::string>& declared) {
    for (const std::string& one : used) {
      if (std::ranges::find(declared, one) == declared.end()) Differ(name + what, Listed(declared), one);
    }
  };
  std::vector<std::string> inputs = setting_.task.info().inputs;
  // Of none, where the option says so: the list is that of such rows.
  if (!trace.pass->images_of.empty() && !trace.pass->images.empty()) inputs.emplace_back("images");
  compare_names("model inputs", trace.record.inputs, inputs);
  compare_names("model outputs", trace.record.outputs, setting_.task.info().outputs);
}

// The list is that of all variants: where there are several, each may lack some.
void ContractComparison::FinishInputs() {
  const TaskInfo& task = setting_.task.info();
  if (task.variants.size() > 1) return;
  for (const std::string& input : task.inputs) {
    if (inputs_.count(input) == 0)
      Differ("model input '" + input + "'", "that it is handed in",
             "handed in by no pass (handed in: " + Listed(inputs_) + ")");
  }
}

void ContractComparison::FinishTerms() {
  for (const TermInfo& term : setting_.task.variant().terms) {
    const bool found = returned_.count(term.name) > 0, trains = trained_.count(term.name) > 0;
    if (!found) Differ("term '" + term.name + "'", "that it is computed", "returned by no pass");
    if (!found || trains || term.weight == 0 || !EverythingTrains()) continue;
    Add("no pass returns the term '" + term.name +
        "' with a graph, so it would teach nothing; compute it from the model's outputs "
        "without detaching them, or give it the weight 0 if it is a figure to log");
  }
}

void ContractComparison::CheckSomethingTrains() const {
  const std::vector<TermInfo>& terms = setting_.task.variant().terms;
  const bool trains = std::ranges::any_of(
      terms, [&](const TermInfo& term) { return term.weight != 0 && trained_.count(term.name) > 0; });
  if (trains || EverythingTrains()) return;
  throw InputError(
      "task '" + setting_.task.info().name +
      "': none of its terms leads to a parameter that is trained, so that its steps would change "
      "nothing; let optimizer.groups freeze less, or give the task the weight 0");
}

void ContractComparison::FinishConstants() {
  for (const ConstantInfo& constant : setting_.task.info().constants) {
    if (constants_.count(constant.name) > 0) continue;
    Differ("constant '" + constant.name + "'", "that it is used",
           "asked for by no pass (asked for: " + Listed(constants_) + ")");
  }
}

void ContractComparison::FinishCarries() {
  std::set<std::string> read;
  for (const auto& one : carries_read_) {
    const auto& [pass, carry] = one;
    read.insert(carry);
    if (carries_reached_.count(one) > 0 || !EverythingTrains() || !IsReadForGradient(pass, carry)) continue;
    Add("pass '" + pass + "' reads the carry '" + carry +
        "', but no gradient of it flows back there; hand the carry over without detaching "
        "it, or, where none is to flow, name it in .keeps");
  }
  for (const std::string& carry : carries_made_) {
    if (read.count(carry) == 0)
      Differ("carry '" + carry + "'", "that a later pass reads it", "read by no pass");
  }
}

bool ContractComparison::IsReadForGradient(const std::string& pass, const std::string& carry) const {
  const std::vector<PassInfo>& passes = setting_.task.variant().passes;
  const auto reader = std::ranges::find(passes, pass, &PassInfo::name);
  return reader->HasGradient() && std::ranges::any_of(passes, [&](const PassInfo& maker) {
           return std::ranges::find(maker.carries, carry) != maker.carries.end();
         });
}

// Back from what the pass made, to carries that it was handed (declared edges, where the walk ends) and to
// nodes of other passes (which nobody declared). Shared encodings belong to no pass: walked through.
ContractComparison::Reached ContractComparison::Walk(const Row& row, std::size_t index) const {
  const PassTrace& trace = row.traces[index];
  const auto& carries = row.micro.carries();
  std::unordered_map<const Node*, std::string> handed;
  for (const std::string& carry : trace.record.carries_read)
    handed.emplace(NodeOf(carries.find(carry)->second), carry);
  handed.erase(nullptr);

  Reached reached;
  std::unordered_set<const Node*> seen;
  std::vector<Node*> open;
  const auto visit = [&](Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const auto& [term, sum] : trace.sums) visit(NodeOf(sum));
  for (const std::string& carry : trace.pass->carries) visit(NodeOf(carries.find(carry)->second));

  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    if (const auto carry = handed.find(node); carry != handed.end()) {
      reached.carries.insert(carry->second);
      continue;
    }
    const std::uint64_t number = node->sequence_nr();  // of a leaf's node: the largest there is, in no range
    bool foreign = false;
    for (std::size_t other = 0; other < row.traces.size() && !InEncoding(row.micro, number); ++other) {
      const PassRecord& range = row.traces[other].record;
      if (other == index || number < range.first_node || number >= range.end_node) continue;
      reached.passes.emplace(other, node->name());
      foreign = true;
    }
    if (foreign) continue;
    for (const auto& edge : node->next_edges()) visit(edge.function.get());
  }
  return reached;
}

// With frozen parameters a carry may lack a graph through no fault of the task's.
bool ContractComparison::EverythingTrains() const {
  const std::vector<Parameter>& parameters = setting_.model.parameters();
  return std::ranges::all_of(parameters,
                             [](const Parameter& parameter) { return parameter.tensor.requires_grad(); });
}

void ContractComparison::CompareGraphs(const Row& row) {
  for (std::size_t index = 0; index < row.traces.size(); ++index) {
    const Reached reached = Walk(row, index);
    const std::string& pass = row.traces[index].pass->name;
    for (const std::string& carry : row.traces[index].record.carries_read) carries_read_.emplace(pass, carry);
    for (const std::string& carry : reached.carries) carries_reached_.emplace(pass, carry);
    for (const auto& [other, node] : reached.passes) {
      Add("pass '" + pass + "' depends on pass '" + row.traces[other].pass->name +
          "' through a tensor that is no declared carry (its graph reaches " + node +
          " there), so that every mode but joint would lose its gradient; hand the tensor "
          "over with Carry and Carried, and declare it");
    }
  }
}

}  // namespace medley
