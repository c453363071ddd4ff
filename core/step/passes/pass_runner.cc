#include <medley/step/passes/pass_runner.h>

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/base/random.h>
#include <medley/base/suggest.h>
#include <medley/model/asked_losses.h>
#include <medley/model/float_type.h>
#include <medley/model/forward_sizes.h>
#include <medley/step/passes/pass_forward.h>
#include <medley/step/passes/pass_shapes.h>
#include <medley/update/references.h>

namespace medley {
namespace {

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The tensor of a spec, or null.
template <typename Tensors>
const TensorSpec* Named(const Tensors& tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &TensorSpec::name);
  return found == tensors.end() ? nullptr : &*found;
}

// Such a run tells apart what rounding hides, so nothing that the host hands in may be less exact.
bool IsInDouble(const Model& model) { return FloatTypeOf(model) == at::kDouble; }

// Of a part of something larger a copy, or that would stay there as well.
at::Tensor WithoutGraph(const at::Tensor& value) {
  const at::Tensor detached = value.detach();
  return detached.storage().nbytes() > detached.nbytes() ? detached.clone() : detached;
}

}  // namespace

class RunningPass final : public PassContext {
 public:
  // `saved`: counts what the pass saves, or null.
  RunningPass(MicroBatch& micro, const PassInfo& pass, CountSavedBytes* saved)
      : micro_(micro), pass_(pass), saved_(saved) {}

  const Batch& batch() const override { return micro_.batch_; }
  at::Tensor Constant(std::string_view name) override;
  at::Tensor Pixels(std::string_view column) override { return micro_.images_.Pixels(column); }
  ModelInput Image(std::string_view name) override;
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override;
  void Carry(std::string_view name, at::Tensor value) override;
  at::Tensor Carried(std::string_view name) override;
  std::uint64_t Seed(std::string_view site) override;

  void CheckSums(const Sums& sums) const;
  PassRecord& record() { return record_; }
  std::string Tensors() const { return shapes_.Words(batch(), micro_.carries()); }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error("task '" + info().name + "', pass '" + pass_.name + "' " + what);
  }
  const TaskInfo& info() const { return micro_.setting_.task.info(); }
  const VariantInfo& variant() const { return micro_.setting_.task.variant(); }
  const Model& model() const;
  // The pass that hands it on; null where there is none.
  const PassInfo* MakerOf(std::string_view name) const;
  void CheckTensors(const ModelInputs& inputs, const WantedOutputs& wanted) const;
  void CheckOutput(std::string_view name, const at::Tensor& output) const;
  void Record(const ModelInputs& inputs, const WantedOutputs& wanted);
  void KeepLearned(const ModelInputs& inputs);

  MicroBatch& micro_;
  const PassInfo& pass_;
  CountSavedBytes* saved_;
  PassRecord record_;
  PassShapes shapes_;
  std::set<std::string, std::less<>> made_;  // for later passes
};

const Model& RunningPass::model() const {
  const MicroBatch::Setting& setting = micro_.setting_;
  const bool is_further = !pass_.reference.empty() && setting.references != nullptr;
  return is_further ? setting.references->Of(pass_.reference) : setting.model;
}

at::Tensor RunningPass::Constant(std::string_view name) {
  std::vector<std::string> declared;
  for (const ConstantInfo& constant : info().constants) declared.push_back(constant.name);
  if (!Contains(declared, name)) {
    Fail("asked for the constant '" + std::string(name) + "', which its spec does not declare (declared: " +
         Listed(declared) + "); add it to the spec's constants");
  }
  record_.constants.emplace(name);
  at::Tensor constant = micro_.setting_.task.Constant(name, micro_.setting_.device);
  if (IsInDouble(micro_.setting_.model) && constant.is_floating_point()) constant = constant.to(at::kDouble);
  if (saved_ != nullptr) saved_->Exclude(constant);
  return constant;
}

const PassInfo* RunningPass::MakerOf(std::string_view name) const {
  const auto maker = std::ranges::find_if(variant().passes, [&](const PassInfo& pass) {
    return Contains(pass.carries, name) || Contains(pass.keeps, name);
  });
  return maker == variant().passes.end() ? nullptr : &*maker;
}

ModelInput RunningPass::Image(std::string_view name) {
  // Counts of readers come from the spec; an undeclared one would read after the encoding is gone.
  if (!Contains(pass_.images, name)) {
    Fail("reads the picture '" + std::string(name) + "', its spec declares " + Listed(pass_.images) +
         "; make the pass's images in the spec agree");
  }
  if (MakerOf(name) != nullptr) Carried(name);  // which is an error where there is none
  return micro_.images_.Image(name);
}

void RunningPass::CheckTensors(const ModelInputs& inputs, const WantedOutputs& wanted) const {
  const ModelSpec& spec = micro_.setting_.model.spec();
  const auto names = [](const auto& tensors) {
    std::vector<std::string_view> names;
    for (const TensorSpec& tensor : tensors) names.push_back(tensor.name);
    return names;
  };
  for (const ModelInput& input : inputs) {
    const TensorSpec* declared = Named(spec.inputs, input.name);
    if (declared == nullptr)
      Fail("hands in '" + input.name + "', but the model's inputs are " + Listed(names(spec.inputs)));
    const std::string misfit = MisfitOf(*declared, input.tensor, batch().size());
    if (!misfit.empty()) Fail("hands in a wrong '" + input.name + "': " + misfit);
  }
  const auto has_outputs = names(spec.outputs);
  for (const std::string_view output : wanted) {
    if (!Contains(has_outputs, output)) {
      Fail("asks for '" + std::string(output) + "', but the model's outputs are " + Listed(has_outputs));
    }
  }
}

// Its numbers are learned from and estimated by its spec.
void RunningPass::CheckOutput(std::string_view name, const at::Tensor& output) const {
  const TensorSpec* declared = Named(micro_.setting_.model.spec().outputs, name);
  const std::string misfit = declared == nullptr ? "" : MisfitOf(*declared, output, batch().size());
  if (!misfit.empty()) Fail("got a wrong '" + std::string(name) + "' from the model: " + misfit);
}

void RunningPass::Record(const ModelInputs& inputs, const WantedOutputs& wanted) {
  for (const ModelInput& input : inputs) {
    record_.inputs.insert(input.name);
    if (input.name == "images" || !input.key.empty()) record_.images.push_back(input.key);
    if (input.name == "tokens") record_.tokens += input.tensor.numel();
  }
  for (const auto& [name, size] : SizesOf(micro_.setting_.model.spec(), inputs).sizes) {
    std::int64_t& most = record_.sizes[name];
    most = std::max(most, size);
  }
  for (const std::string_view output : wanted) record_.outputs.emplace(output);
  if (record_.keeps_learned) KeepLearned(inputs);
}

void RunningPass::KeepLearned(const ModelInputs& inputs) {
  const at::Tensor *tokens = FindInput(inputs, "tokens"), *positions = FindInput(inputs, "supervised");
  if (tokens == nullptr || positions == nullptr || tokens->dim() != 2) return;
  record_.learned = tokens->flatten().index_select(0, *positions);
  record_.learned_rows = positions->div(tokens->size(1), "floor");
}

ModelOutputs RunningPass::Forward(const ModelInputs& inputs, const WantedOutputs& wanted) {
  if (++record_.forwards > 1) {
    Fail("made " + std::to_string(record_.forwards) +
         " forwards of the model, a pass makes exactly 1; declare a pass " +
         "for each forward (the variant '" + variant().name + "' declares " +
         std::to_string(variant().passes.size()) + ")");
  }
  shapes_.HandedIn(inputs);
  // Who looks at what the model gave looks at logits, not at what became of them.
  const AskedLosses asked(micro_.setting_.model.spec(), wanted, record_.keeps_outputs);
  CheckTensors(inputs, asked.wanted());
  Record(inputs, wanted);
  PassForward context(info().name, pass_, batch().rows(), micro_.encodings_, micro_.setting_.way.recomputed);
  ModelOutputs outputs = model().Forward(inputs, asked.wanted(), context);
  record_.layers = context.layers();
  for (const std::string_view output : asked.wanted()) {
    const auto found = outputs.find(output);
    if (found == outputs.end()) Fail("got no '" + std::string(output) + "' from the model");
    shapes_.Made(output, found->second);
    CheckOutput(output, found->second);
    if (record_.keeps_outputs) record_.made.emplace(output, found->second);
  }
  asked.AddTo(outputs, inputs);
  return outputs;
}

void RunningPass::Carry(std::string_view name, at::Tensor value) {
  const std::string quoted = "the carry '" + std::string(name) + "'";
  const bool keeps = Contains(pass_.keeps, name);
  if (!keeps && !Contains(pass_.carries, name)) {
    std::vector<std::string> declared;
    pass_.ForEachMade([&](const std::string& made) { declared.push_back(made); });
    Fail("made " + quoted + ", which its spec does not declare (declared: " + Listed(declared) +
         "); add it to the pass's carries, or to its keeps where no gradient is to flow through it");
  }
  if (!value.defined() || value.dim() < 1 || value.size(0) != batch().size()) {
    Fail(quoted + " must have rows first: expected " + std::to_string(batch().size()) + " rows, got " +
         (value.defined() ? c10::str(value.sizes()) : "nothing"));
  }
  if (!made_.emplace(name).second) Fail("made " + quoted + " twice");
  if (!keeps) return micro_.images_.Carry(name, std::move(value));
  if (!micro_.images_.Carried(name).defined()) micro_.images_.Carry(name, WithoutGraph(value));
}

at::Tensor RunningPass::Carried(std::string_view name) {
  const PassInfo* maker = MakerOf(name);  // in a second stage later ones are there, too
  if (maker != nullptr && maker >= &pass_)
    Fail("reads '" + std::string(name) + "', which a later pass makes ('" + maker->name +
         "'); make it before it is read");
  at::Tensor carried = micro_.images_.Carried(name);
  if (!carried.defined()) {
    std::vector<std::string> made;
    for (const auto& [carry, value] : micro_.carries()) made.push_back(carry);
    Fail("asked for the carry '" + std::string(name) +
         "', which no earlier pass made (made: " + Listed(made) + ")");
  }
  record_.carries_read.emplace(name);
  return carried;
}

// The rows' seed is the task's. No site of a model is called so.
std::uint64_t RunningPass::Seed(std::string_view site) {
  const std::uint64_t pass = CombineSeeds(batch().rows().seed, HashName("pass:" + pass_.name));
  return CombineSeeds(pass, HashName(site));
}

void RunningPass::CheckSums(const Sums& sums) const {
  if (record_.forwards != 1) Fail("made 0 forwards of the model, a pass makes exactly 1");
  std::vector<std::string> declared;
  for (const TermInfo& term : variant().terms) declared.push_back(term.name);
  for (const auto& [term, sum] : sums) {
    if (!Contains(declared, term)) {
      Fail("returned the term '" + term + "', which its spec does not declare (declared: " +
           Listed(declared) + "); add it to the variant's terms");
    }
    if (!sum.defined() || sum.numel() != 1 || !sum.is_floating_point()) {
      Fail("returned for the term '" + term + "' " + (sum.defined() ? c10::str(sum.sizes()) : "nothing") +
           ", expected one floating-point sum");
    }
    const auto info = std::ranges::find(variant().terms, term, &TermInfo::name);
    if (!pass_.HasGradient() && info->weight > 0) {
      Fail("has no gradient and adds to the term '" + term +
           "', of which nothing would be learned by that; add to it in a pass with a gradient, or declare "
           "the term with the weight 0");
    }
  }
  pass_.ForEachMade([&](const std::string& name) {
    if (made_.count(name) == 0) Fail("did not make the carry '" + name + "' that its spec declares");
  });
}

MicroBatch::MicroBatch(const Setting& setting, const Batch& rows)
    : setting_(setting),
      batch_(IsInDouble(setting.model) ? rows.To(setting.device).InDouble() : rows.To(setting.device)),
      encodings_(setting.task.variant(), SharingOf(setting.way.mode), setting.observer),
      images_(batch_, AtLeastFloat(FloatTypeOf(setting.model))) {}

MicroBatch::~MicroBatch() = default;

Sums MicroBatch::RunPass(const PassInfo& pass, PassRecord* record) {
  HeedInterrupt();
  std::optional<CountSavedBytes> saved;
  StepObserver* const observer = setting_.observer;
  if (observer != nullptr && observer->WantsSavedBytes() && at::GradMode::is_enabled()) {
    saved.emplace();
    for (const Parameter& parameter : setting_.model.parameters()) saved->Exclude(parameter.tensor);
  }
  RunningPass running(*this, pass, saved ? &*saved : nullptr);
  running.record().keeps_outputs = record != nullptr && record->keeps_outputs;
  running.record().keeps_learned = record != nullptr && record->keeps_learned;
  running.record().first_node = at::sequence_number::peek();
  const at::AutoGradMode graph(at::GradMode::is_enabled() && pass.HasGradient());
  Sums sums = setting_.task.Run(pass.name, running, [&] { return running.Tensors(); });
  running.record().end_node = at::sequence_number::peek();
  running.CheckSums(sums);
  if (observer != nullptr) {
    observer->PassRan({.task = setting_.task.info().name,
                       .pass = pass.name,
                       .tokens = running.record().tokens,
                       .layers = running.record().layers,
                       .saved = saved ? std::optional(saved->bytes()) : std::nullopt});
  }
  if (record != nullptr) *record = std::move(running.record());
  return sums;
}

void MicroBatch::PassDone(const PassInfo& pass) {
  encodings_.PassDone(pass);
  images_.ForgetPixels([&](const std::string& column) { return encodings_.Readers(column) == 0; });
}

void MicroBatch::Flush() { encodings_.Flush(); }

void MicroBatch::BeginStage(const std::vector<const PassInfo*>& passes) {
  encodings_ =
      SharedEncodings(setting_.task.variant(), passes, SharingOf(setting_.way.mode), setting_.observer);
}

}  // namespace medley
