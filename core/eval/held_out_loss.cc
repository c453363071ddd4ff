#include <medley/eval/held_out_loss.h>

#include <ATen/ops/bincount.h>
#include <ATen/ops/equal.h>

#include <vector>

#include <medley/text/special_tokens.h>

namespace medley {

void HeldOutLoss::Add(const Batch& rows) {
  MicroBatch micro({.task = task_, .model = model_, .device = device_, .references = references_}, rows);
  for (const PassInfo& pass : task_.variant().passes) {
    PassRecord record;
    record.keeps_learned = counts_text_;
    const Sums sums = micro.RunPass(pass, &record);
    for (const auto& [term, sum] : sums) sums_[term] += sum.item<double>();
    if (counts_text_) CountTextOf(record, rows, sums, text_[pass.name]);
    micro.PassDone(pass);
  }
  for (const TermInfo& term : task_.variant().terms) counts_[term.name] += rows.ItemCount(term.name);
}

double HeldOutLoss::Value(const Execution& plan) const {
  double loss = 0;
  for (const TermInfo& term : task_.variant().terms) {
    const auto count = counts_.find(term.name);
    if (count == counts_.end() || count->second == 0) continue;
    loss += TermWeight(plan, term) * sums_.at(term.name) / static_cast<double>(count->second);
  }
  return loss;
}

void HeldOutLoss::CountText(const Tokenizer* tokenizer) {
  counts_text_ = true;
  tokenizer_ = tokenizer;
  if (tokenizer == nullptr) return;
  for (const std::string& name : tokenizer->SpecialNames()) no_text_.insert(name);
  no_text_.insert(kSpecialTokens.begin(), kSpecialTokens.end());
}

// Of one alone: its place among others changes nothing.
std::optional<std::int64_t> HeldOutLoss::BytesOf(std::int64_t token) const {
  if (tokenizer_ == nullptr || token < 0 || token >= tokenizer_->size()) return std::nullopt;
  if (tokenizer_->Piece(token) == "<unk>") return std::nullopt;  // stands for any bytes
  const std::string text = tokenizer_->Decode({token});
  return no_text_.contains(text) ? 0 : std::ssize(text);
}

void HeldOutLoss::CountTextOf(const PassRecord& record, const Batch& rows, const Sums& sums, PassText& text) {
  const at::Tensor of_rows = record.learned.defined()
                                 ? at::bincount(record.learned_rows.to(at::kCPU, at::kLong), {}, rows.size())
                                 : at::zeros({rows.size()}, at::kLong);
  for (const auto& [term, sum] : sums) {
    text.terms.insert(term);
    const auto items = rows.items().find(term);
    if (items == rows.items().end() || !at::equal(items->second.to(at::kLong), of_rows))
      not_of_text_.insert(term);
  }
  if (!record.learned.defined()) return;
  const at::Tensor learned = record.learned.to(at::kCPU, at::kLong).contiguous();
  for (std::int64_t i = 0; text.bytes && i < learned.numel(); ++i) {
    const std::optional<std::int64_t> more = BytesOf(learned.const_data_ptr<std::int64_t>()[i]);
    text.bytes = more ? std::optional(*text.bytes + *more) : std::nullopt;
  }
}

std::map<std::string, TextLoss> HeldOutLoss::Text() const {
  std::map<std::string, TextLoss> losses;
  for (const auto& [pass, text] : text_) {
    std::vector<std::string> terms;
    for (const std::string& term : text.terms) {
      if (counts_.at(term) > 0 && !not_of_text_.contains(term)) terms.push_back(term);
    }
    if (terms.size() != 1) continue;
    const std::int64_t tokens = counts_.at(terms.front());
    losses[terms.front()] = {.loss = sums_.at(terms.front()) / static_cast<double>(tokens),
                             .tokens = tokens,
                             .bytes = text.bytes.value_or(0) > 0 ? text.bytes : std::nullopt};
  }
  return losses;
}

}  // namespace medley
