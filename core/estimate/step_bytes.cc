#include <medley/estimate/step_bytes.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <medley/estimate/step_account.h>
#include <medley/memory/product_workspace.h>
#include <medley/model/parameter_bytes.h>
#include <medley/step/accumulation.h>

namespace medley {
namespace {

using Graph = StepAccount::Graph;

// Of a pass, whatever its rows: counts, sums and their seeds, positions.
constexpr std::int64_t kSmallThings = 4096;

std::set<std::string> Distinct(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

ForwardShape ForwardOf(const PassShape& pass, const ModelSpec& spec, std::int64_t rows, bool on_gpu) {
  ForwardShape shape{
      .rows = rows, .sizes = on_gpu ? pass.sizes : pass.longest, .outputs = pass.outputs, .on_gpu = on_gpu};
  for (const ModelSize& size : spec.sizes) {
    if (size.ragged) shape.sizes[std::string(size.name)] *= rows;
  }
  return shape;
}

// In the first of two stages.
bool RunsBefore(const PassShape& pass) {
  return !pass.has_gradient || !pass.carries.empty() || pass.kept > 0;
}

// The passes of one step in the order of its mode.
class Walk {
 public:
  Walk(const Model& model, const TaskShape& task, const StepSetting& setting, const MemoryLedger& floor)
      : model_(model), task_(task), setting_(setting), account_(floor, setting.way.recomputed) {
    if (!setting.on_gpu)
      products_ = setting.any_cpu ? LargestWorkspaceOf(model.parameters()) : WorkspaceOf(model.parameters());
    for (const PassShape& pass : task.passes) {
      if (!pass.has_gradient) continue;  // what it encodes is its own
      for (const std::string& image : Distinct(pass.images)) ++readers_[image];
    }
    // A carry is another tensor in each run of a pass: encoded again wherever it is read.
    for (const PassShape& pass : task.passes) {
      for (const std::string& carry : pass.carries) readers_.erase(carry), carries_.insert(carry);
    }
  }

  MemoryLedger Training() {
    rows_ = RowsAtOnce(setting_.micro_rows, setting_.rows);
    // A GPU gets the rows of one micro-batch at a time; on the CPU they lie where they were sampled.
    account_.AddInputs(task_.row_bytes * (setting_.on_gpu ? rows_ : setting_.rows) +
                       kSmallThings * static_cast<std::int64_t>(task_.passes.size()));
    if (setting_.draws_per_step > 1) account_.BeginWithGradients(TrainedBytes(model_.parameters()));
    // The first piece begins without gradients of its own, the second with them; any other is like it.
    for (int piece = 0; piece < (setting_.rows > rows_ ? 2 : 1); ++piece) Passes();
    account_.Touch(0);  // the optimizer's update, which allocates nothing
    return account_.peak();
  }

  // See SharesBeyondEncodings.
  bool MeetsAgain() const {
    std::set<std::string> made;
    for (const PassShape& pass : task_.passes) {
      if (!pass.has_gradient) continue;
      std::set<std::string> here;
      for (const ForwardPart& part : model_.Footprint(ShapeOf(pass, /*with_graph=*/true))) {
        if (part.image >= 0 && part.in_place) here.insert(PlaceOf(pass, part));
      }
      for (const std::string& place : here) {
        if (!made.insert(place).second) return true;
      }
    }
    return false;
  }

 private:
  // Encodings that several passes read: their graphs, and the gradient that waits in the leaf.
  struct Shared {
    Graph graph;
    std::int64_t waiting = 0;
  };

  void Passes() {
    if (KeepsAllPasses())
      Joint();
    else
      OneAfterTheOther();
    for (const PassShape& pass : task_.passes) account_.AddInputs(-pass.kept * rows_);
  }

  void OneAfterTheOther() {
    std::vector<const PassShape*> order;
    const bool repeats = TraitsOf(setting_.way.mode).repeats_makers;
    bool keeps = false;
    for (const PassShape& pass : task_.passes) {
      keeps = keeps || pass.kept > 0;
      if (!repeats || pass.has_gradient) order.push_back(&pass);
    }
    if (repeats || !keeps) std::ranges::reverse(order);
    if (repeats) MakeCarries();
    OneByOne(order);
  }

  // Nothing of it is left but what it keeps. One without a gradient takes no encodings of those that have
  // one.
  void RunWithoutGraph(const PassShape& pass) {
    std::set<std::string> of_others;
    if (!pass.has_gradient) std::swap(of_others, encoded_);
    account_.Drop(Forward(pass, false));
    if (!pass.has_gradient) std::swap(of_others, encoded_);
    account_.AddInputs(pass.kept * rows_);
  }

  void Joint() {
    Graph graph;
    for (std::size_t i = 0; i < task_.passes.size(); ++i) {
      const PassShape& pass = task_.passes[i];
      if (!pass.has_gradient) {
        RunWithoutGraph(pass);
        continue;
      }
      account_.AddInputs(pass.kept * rows_);
      // The gradient of a carry waits from the backward of its last reader to that of its maker.
      graph.push_back(Waiting(-Carried(pass.images) + ReadAfter(i, pass.images)));
      for (auto& live : Forward(pass, true)) graph.push_back(std::move(live));
      graph.insert(std::prev(graph.end()), Waiting(ReadAfter(i, pass.carries)));
    }
    // A layer that runs again needs what it saw.
    const std::int64_t seen_again = setting_.way.recomputed.any() ? shared_bytes_ : 0;
    account_.AddActivations(seen_again - std::exchange(shared_bytes_, 0));
    account_.Backward(std::move(graph));
    account_.AddActivations(-seen_again);
    encoded_.clear();
    ForgetPictures({});
  }

  // A place in a graph where the backward frees so many bytes; below 0: where they arrive.
  static StepAccount::Live Waiting(std::int64_t bytes) { return {.part = {.kept = bytes}, .dropped = false}; }

  // Bytes of those carries that a pass behind this one reads.
  std::int64_t ReadAfter(std::size_t index, const std::vector<std::string>& names) const {
    std::vector<std::string> read;
    for (const std::string& name : names) {
      for (std::size_t i = index + 1; i < task_.passes.size(); ++i) {
        const std::vector<std::string>& images = task_.passes[i].images;
        if (std::ranges::find(images, name) == images.end()) continue;
        read.push_back(name);
        break;
      }
    }
    return Carried(read);
  }

  // What hands something on, without graphs, and what has no gradient; only what they hand on is kept.
  void MakeCarries() {
    for (const PassShape& pass : task_.passes) {
      if (!RunsBefore(pass)) continue;
      RunWithoutGraph(pass);
      account_.AddInputs(Carried(pass.carries));
    }
    encoded_.clear();
    ForgetPictures({});
  }

  // Each with its backward.
  void OneByOne(const std::vector<const PassShape*>& order) {
    const bool repeats = TraitsOf(setting_.way.mode).repeats_makers;
    auto left = readers_;
    std::set<std::string> gradients;  // of carries
    for (const PassShape* pass : order) {
      if (!pass->has_gradient) {
        RunWithoutGraph(*pass);
        continue;
      }
      if (repeats) account_.AddInputs(-Carried(pass->carries));  // made again
      if (!repeats) account_.AddInputs(pass->kept * rows_);
      RunAlone(*pass);
      HandGradients(*pass, gradients);
      for (const std::string& image : Distinct(pass->images)) {
        if (left.count(image) == 0 || --left[image] > 0 || shared_.count(image) == 0) continue;
        account_.Backward(std::move(shared_[image].graph));
        account_.AddActivations(-shared_[image].waiting);
        shared_.erase(image);
        encoded_.erase(image);
      }
      ForgetPictures(left);
    }
  }

  // Carries that were read have a gradient now, those that were made need theirs no longer.
  void HandGradients(const PassShape& pass, std::set<std::string>& gradients) {
    for (const std::string& image : pass.images) {
      if (carries_.count(image) > 0 && gradients.insert(image).second)
        account_.AddInputs(task_.picture_bytes * rows_);
    }
    for (const std::string& carry : pass.carries) {
      if (gradients.erase(carry) > 0) account_.AddInputs(-task_.picture_bytes * rows_);
    }
  }

  void RunAlone(const PassShape& pass) {
    Graph own;
    for (auto& live : Forward(pass, true)) {
      const std::string name =
          live.part.image >= 0 ? pass.images[static_cast<std::size_t>(live.part.image)] : "";
      const auto readers = readers_.find(name);
      const bool is_shared = readers != readers_.end() && readers->second > 1;
      (is_shared ? shared_[name].graph : own).push_back(std::move(live));
    }
    for (auto& [name, shared] : shared_) {
      if (shared.waiting > 0) continue;
      shared.waiting = EncodingBytes(shared.graph);
      account_.AddActivations(shared.waiting);
    }
    account_.Backward(std::move(own));
    std::erase_if(encoded_, [&](const std::string& image) { return shared_.count(image) == 0; });
  }

  // A picture is made as floats when it is first needed, and kept while a pass to come looks at it.
  void MakePictures(const PassShape& pass) {
    for (const std::string& picture : pass.pictures) {
      if (pictures_.insert(picture).second) account_.AddInputs(task_.picture_bytes * rows_);
    }
  }
  void ForgetPictures(const std::map<std::string, int>& left) {
    std::erase_if(pictures_, [&](const std::string& picture) {
      const auto readers = left.find(picture);
      const bool is_over = readers == left.end() || readers->second == 0;
      if (is_over) account_.AddInputs(-task_.picture_bytes * rows_);
      return is_over;
    });
  }

  // What a pass's forward and its losses keep. Parts of encodings that are there already are left out.
  Graph Forward(const PassShape& pass, bool with_graph) {
    MakePictures(pass);
    Graph graph;
    std::set<std::string> encoded;
    for (ForwardPart& part : model_.Footprint(ShapeOf(pass, with_graph))) {
      if (part.image >= 0) {
        std::string image = PlaceOf(pass, part);
        if (encoded_.count(image) > 0) continue;
        encoded.insert(std::move(image));
      }
      const std::int64_t output = part.output;
      if (products_) products_->AddTo(part);
      graph.push_back(account_.Forward(std::move(part), with_graph));
      if (!KeepsAllPasses() || !with_graph) continue;
      account_.AddActivations(output);
      shared_bytes_ += output;
    }
    encoded_.merge(encoded);
    // Where a carry's gradient meets that of the losses, the sum is there until what made the carry is
    // through.
    if (!graph.empty()) graph.back().part.backward += Carried(pass.carries);
    graph.push_back(account_.Forward(LossOf(pass, with_graph), with_graph));
    return graph;
  }

  // Of which image a part is, and where that stands, if that matters.
  static std::string PlaceOf(const PassShape& pass, const ForwardPart& part) {
    const std::string& image = pass.images[static_cast<std::size_t>(part.image)];
    return part.in_place ? image + " at " + std::to_string(part.image) : image;
  }

  bool KeepsAllPasses() const { return TraitsOf(setting_.way.mode).keeps == KeepsGraphs::kOfAllPasses; }

  // See ForwardContext::SharesBesideLayers.
  std::int64_t SharedImages(const PassShape& pass) const {
    if (!KeepsAllPasses()) return 0;
    const auto is_alone = [&](const std::string& image) {
      const auto readers = readers_.find(image);
      return readers == readers_.end() || readers->second < 2;
    };
    return std::ranges::find_if(pass.images, is_alone) - pass.images.begin();
  }

  ForwardShape ShapeOf(const PassShape& pass, bool with_graph) const {
    ForwardShape shape = ForwardOf(pass, model_.spec(), rows_, setting_.on_gpu);
    shape.shared = SharedImages(pass);
    shape.with_graph = with_graph;
    for (std::size_t i = 0; i < pass.images.size(); ++i) {
      if (carries_.contains(pass.images[i])) shape.carried.insert(static_cast<std::int64_t>(i));
    }
    return shape;
  }

  ForwardPart LossOf(const PassShape& pass, bool with_graph) const {
    // A carry's gradient is added to that of the losses.
    const std::int64_t carried = Carried(pass.carries);
    ForwardPart loss{.kept = rows_ * pass.loss.kept + carried,
                     .forward = rows_ * pass.loss.forward,
                     .backward = rows_ * pass.loss.backward + carried};
    if (!with_graph) loss.kept = 0;
    loss.forward -= loss.kept;
    return loss;
  }

  std::int64_t Carried(const std::vector<std::string>& names) const {
    const auto carried =
        std::ranges::count_if(names, [&](const std::string& name) { return carries_.count(name) > 0; });
    return static_cast<std::int64_t>(carried) * task_.picture_bytes * rows_;
  }

  // What the encodings in a graph hand to those that read them.
  static std::int64_t EncodingBytes(const Graph& graph) {
    std::int64_t bytes = 0;
    for (const StepAccount::Live& live : graph) bytes += live.part.output;
    return bytes;
  }

  const Model& model_;
  const TaskShape& task_;
  const StepSetting& setting_;
  StepAccount account_;
  std::optional<ProductWorkspace> products_;  // on the CPU
  std::int64_t rows_ = 0;
  std::map<std::string, int> readers_;  // passes, by the column of the picture
  std::set<std::string> carries_;
  std::set<std::string> encoded_;   // pictures whose encoding is there
  std::int64_t shared_bytes_ = 0;   // that the passes of a joint graph hand to one another
  std::set<std::string> pictures_;  // columns that are there as floats
  std::map<std::string, Shared> shared_;
};

}  // namespace

MemoryLedger TrainingBytes(const Model& model, const TaskShape& task, const StepSetting& setting,
                           const MemoryLedger& floor) {
  return Walk(model, task, setting, floor).Training();
}

bool SharesBeyondEncodings(const Model& model, const TaskShape& task) {
  return Walk(model, task, {.way = {Mode::kJoint}}, {}).MeetsAgain();
}

std::int64_t GradientBytes(const Model& model, const TaskShape& task) {
  std::map<std::string, std::int64_t> gradients;
  for (const PassShape& pass : task.passes) {
    if (!pass.has_gradient) continue;
    for (const ForwardPart& part : model.Footprint(ForwardOf(pass, model.spec(), 1, /*on_gpu=*/false)))
      gradients[part.parameters] = part.gradients;
  }
  std::int64_t bytes = 0;
  for (const auto& [parameters, of_them] : gradients) bytes += of_them;
  return bytes;
}

int DeepestStack(const Model& model, const TaskShape& task) {
  int layers = 0;
  for (const PassShape& pass : task.passes) {
    for (const ForwardPart& part : model.Footprint(ForwardOf(pass, model.spec(), 1, /*on_gpu=*/false)))
      layers = std::max(layers, part.layer + 1);
  }
  return layers;
}

std::int64_t ForwardsOf(const TaskShape& task, Mode mode) {
  const auto runs_twice = [](const PassShape& pass) { return pass.has_gradient && RunsBefore(pass); };
  const auto passes = static_cast<std::int64_t>(task.passes.size());
  if (!TraitsOf(mode).repeats_makers) return passes;
  return passes + std::ranges::count_if(task.passes, runs_twice);
}

}  // namespace medley
