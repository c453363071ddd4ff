#include <medley/eval/eval_pass.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/model/asked_losses.h>
#include <medley/model/float_type.h>
#include <medley/plugin/with_tensors.h>
#include <medley/step/sample_rows.h>
#include <medley/update/references.h>

namespace medley {
namespace {

class InPiece {
 public:
  explicit InPiece(bool& flag) : flag_(flag) { flag_ = true; }
  ~InPiece() { flag_ = false; }
  InPiece(const InPiece&) = delete;
  InPiece& operator=(const InPiece&) = delete;

 private:
  bool& flag_;
};

}  // namespace

at::Tensor KeptEncodings::Shared(const std::string& key, const Fn& fn) {
  if (key.empty()) return fn();
  const auto kept = encodings_.find(key);
  if (kept != encodings_.end()) return kept->second;
  at::Tensor made = fn();  // may ask for other encodings
  return encodings_.emplace(key, std::move(made)).first->second;
}

void KeptEncodings::Forget(const std::string& key) {
  std::erase_if(encodings_, [&](const auto& encoding) { return encoding.first.ends_with(key); });
}

EvalPiece::EvalPiece(LoadedTask& task, const Model& model, const References* references, at::Device device,
                     const Batch& batch)
    : task_(task),
      model_(model),
      references_(references),
      device_(device),
      batch_(batch.To(device)),
      images_(batch_, AtLeastFloat(FloatTypeOf(model))) {}

ModelOutputs EvalPiece::Forward(const ModelInputs& inputs, const WantedOutputs& wanted) {
  return ForwardBy(model_, encodings_, inputs, wanted);
}

ModelOutputs EvalPiece::ForwardOf(std::string_view reference, const ModelInputs& inputs,
                                  const WantedOutputs& wanted) {
  if (references_ == nullptr) return Forward(inputs, wanted);
  return ForwardBy(references_->Of(reference), of_references_[std::string(reference)], inputs, wanted);
}

ModelOutputs EvalPiece::ForwardBy(const Model& model, KeptEncodings& encodings, const ModelInputs& inputs,
                                  const WantedOutputs& wanted) {
  shapes_ = {};  // of the last forward: a piece may make many
  shapes_.HandedIn(inputs);
  const AskedLosses asked(model.spec(), wanted);
  ModelOutputs outputs = model.Forward(inputs, asked.wanted(), encodings);
  asked.AddTo(outputs, inputs);
  for (const auto& [name, output] : outputs) shapes_.Made(name, output);
  return outputs;
}

void EvalPiece::Carry(std::string_view name, at::Tensor value) {
  encodings_.Forget(CarryKey(name));
  for (auto& [reference, encodings] : of_references_) encodings.Forget(CarryKey(name));
  images_.Carry(name, std::move(value));
}

at::Tensor EvalPiece::Carried(std::string_view name) {
  at::Tensor carried = images_.Carried(name);
  if (carried.defined()) return carried;
  throw Error("task '" + task_.info().name + "' asked for the carry '" + std::string(name) +
              "' in its evaluation, before it made it");
}

Generated EvalPiece::Generate(const ModelInputs& prompt, const GenerateOptions& options) {
  return model_.Generate(prompt, options, encodings_);
}

std::vector<RowRange> EvalPieces(const RowRange& rows, std::int64_t rows_at_once) {
  std::vector<RowRange> pieces;
  for (std::int64_t done = 0; done < rows.count; done += rows_at_once) {
    pieces.push_back(rows.Part(done, std::min(rows_at_once, rows.count - done)));
  }
  return pieces;
}

PiecewiseEval::PiecewiseEval(const Setting& setting, const RowRange& rows, OnRows on_rows)
    : setting_(setting), rows_(rows), on_rows_(std::move(on_rows)), next_(rows.begin) {}

void PiecewiseEval::ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) {
  if (in_piece_) {
    throw Error("task '" + setting_.task.info().name +
                "': Evaluate called ForEachPiece from within a piece, where room for one is planned; call it "
                "again after the first has returned");
  }
  if (rows.begin < 0 || rows.count < 0) {
    throw Error("task '" + setting_.task.info().name + "': Evaluate asked ForEachPiece for " +
                std::to_string(rows.count) + " rows from row " + std::to_string(rows.begin) +
                ", expected neither below 0");
  }
  asked_ += rows.count;
  for (const RowRange& piece : EvalPieces(rows, setting_.rows_at_once)) {
    HeedInterrupt();
    const Batch batch = ReadyFor(setting_.device, SampleAlone(setting_.task, piece));
    {
      const InPiece in_piece(in_piece_);
      EvalPiece pass(setting_.task, setting_.model, setting_.references, setting_.device, batch);
      WithTensors(
          setting_.task.plugin(), [&] { return pass.Tensors(); }, [&] { fn(pass); });
    }
    Tell(batch);
    TellProgress(piece.count);
  }
}

void PiecewiseEval::TellProgress(std::int64_t rows) {
  seen_ += rows;
  if (!setting_.progress) return;
  setting_.progress(static_cast<double>(seen_) / static_cast<double>(std::max(asked_, rows_.count)));
}

void PiecewiseEval::Finish() {
  const std::int64_t end = rows_.begin + rows_.count;
  const RowRange rest = rows_.Part(next_ - rows_.begin, end - next_);
  for (const RowRange& piece : EvalPieces(rest, setting_.rows_at_once)) {
    HeedInterrupt();
    Tell(SampleAlone(setting_.task, piece));
  }
}

void PiecewiseEval::Tell(const Batch& batch) {
  const RowRange& piece = batch.rows();
  if (piece.seed != rows_.seed || piece.split != rows_.split || piece.begin != next_ ||
      piece.begin + piece.count > rows_.begin + rows_.count) {
    return;
  }
  on_rows_(batch);
  next_ += piece.count;
}

}  // namespace medley
