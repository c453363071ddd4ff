#include <medley/train/step_agreement.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <tuple>

#include <medley/base/file_digest.h>
#include <medley/cluster/roll_call.h>

namespace medley {
namespace {

// What a process says behind its last backward: whether it failed, the seconds that it worked, which
// gradients it has, its sums. The lists are as long on all, which agreed on the step by then.
using Closing = std::tuple<bool, double, std::vector<std::int64_t>, std::vector<double>>;

template <typename Visit>
void ForEachTerm(StepLosses& losses, const Visit& visit) {
  for (auto& [task, terms] : losses) {
    for (auto& [term, loss] : terms) visit(task, term, loss);
  }
}

void TakeTheFirsts(ProcessGroup& group, Optimizer& optimizer) {
  for (const auto& list : {optimizer.weights().list(), optimizer.State()}) {
    for (const Parameter& parameter : list) {
      at::Tensor values = parameter.tensor.detach();
      at::Tensor here = values.cpu().contiguous();
      group.Broadcast(here, 0);
      values.copy_(here);
    }
  }
  optimizer.weights().Round();
}

std::int64_t SumOfPlan(const Mixer& mixer, const PlanInForce& plan) {
  std::string words;
  for (const std::string& task : mixer.mixture().Active()) {
    words += plan.IdOf(task).text() + " " + std::to_string(plan.RowsOf(task).value_or(0)) + " " +
             std::to_string(plan.OperationsOf(task).value_or(0)) + "\n";
  }
  return HashNumber(words);
}

// Of a piece of one parameter, another one at each step: a process whose weights differ is found in time.
std::int64_t SumOfWeights(const std::vector<Parameter>& weights, std::int64_t step) {
  constexpr std::int64_t kPiece = 1 << 14;  // numbers
  const at::Tensor flat = weights[static_cast<std::size_t>(step) % weights.size()].tensor.detach().flatten();
  const std::int64_t pieces = std::max<std::int64_t>(1, flat.numel() / kPiece);
  const std::int64_t begin = step / std::ssize(weights) % pieces * kPiece;
  const at::Tensor piece = flat.narrow(0, begin, std::min(kPiece, flat.numel() - begin)).cpu().contiguous();
  return HashNumber({static_cast<const char*>(piece.const_data_ptr()), piece.nbytes()});
}

void RequireSamePlace(const std::vector<RollCall>& calls, std::int64_t step) {
  const std::string difference = Difference(calls);
  if (difference.empty()) return;
  throw Error("the processes of the run no longer do the same: before step " + std::to_string(step) + " " +
              difference +
              ". Nothing was exchanged. Do all have the same files, plugins, libraries and budget? Otherwise "
              "it is a bug of medley's; the last checkpoint is intact");
}

// `edit`: what the first has to tell; `flags`: of all.
void ShareWeights(ProcessGroup& group, const std::optional<WeightsFile::Look>& edit, std::int64_t flags,
                  WeightsFile& file) {
  if ((flags & (RollCall::kEdited | RollCall::kNoWeights)) == 0) return;
  const std::string words = Broadcast(group, edit ? edit->text.value_or(edit->problem) : "");
  const bool is_there = (flags & RollCall::kEdited) != 0;
  file.Tell({.text = is_there ? std::optional(words) : std::nullopt, .problem = is_there ? "" : words});
}

// Of all: `losses` have none so far.
void AddItems(ProcessGroup& group, const std::vector<RollCall>& calls, const std::vector<std::int64_t>& own,
              StepLosses& losses) {
  std::vector<std::vector<std::int64_t>> all;
  if (own.size() > RollCall::kItems) {
    all = GatherNumbers(group, own);
  } else {
    for (const RollCall& call : calls) all.emplace_back(call.items.begin(), call.items.end());
  }
  std::size_t index = 0;
  ForEachTerm(losses, [&](const auto&, const auto&, TermLoss& loss) {
    for (const auto& items : all) loss.count += items[index];
    ++index;
  });
}

// For what others used. Where some have to, all hear whether they could.
std::optional<Failure> MakeRoom(GradientExchange& exchange, const std::vector<std::int64_t>& used,
                                const std::vector<Closing>& all, Rounds& rounds) {
  const auto lacks = [&](const Closing& one) { return std::get<2>(one) != used; };
  const bool some_lack = std::ranges::any_of(all, lacks);
  std::optional<Failure> own;
  try {
    exchange.Prepare(used);
  } catch (const c10::OutOfMemoryError& error) {
    if (!some_lack) throw;
    own = Failure::Of(error, "no room for the gradients of other processes: ");
  }
  if (!some_lack || !rounds.Any(own.has_value())) return std::nullopt;
  return rounds.FirstOf(own);
}

class StepOfSeveral final : public StepAgreement {
 public:
  explicit StepOfSeveral(const AgreementSetting& setting) : setting_(setting) {
    ReadClock();
    TakeTheFirsts(group_, setting.optimizer);
    for (ProcessGroup* group : {&group_, &setting.cluster.gradients()})
      group->SetTimeout(setting.peer_timeout);
  }

  void Begin(std::int64_t step) override;
  void Count(StepLosses& losses) override;
  std::optional<Failure> Close(std::optional<Failure> own, const std::string& running,
                               StepLosses& losses) override;
  void Updated() override { weights_ = SumOfWeights(setting_.optimizer.weights().list(), step_); }
  double seconds_in_exchanges() const override { return seconds_ + exchange_.seconds_spreading(); }
  double clock() const override { return clock_; }
  void ReadClock() override;
  bool TakeSaveRequest() override { return Take(RollCall::kSaves); }
  bool TakeWarning() override { return Take(RollCall::kGuards); }

 private:
  template <typename Work>
  void Exchange(const Work& work) {
    const double begin = SteadySeconds();
    Exchanging(work);
    seconds_ += SteadySeconds() - begin;
  }
  bool Take(std::int64_t flag) { return (std::exchange(news_, news_ & ~flag) & flag) != 0; }
  RollCall Present(const std::vector<std::int64_t>& items, std::int64_t flags);
  void Call(const StepLosses& own);
  std::optional<Failure> AddUp(const std::optional<Failure>& own, StepLosses& losses);

  AgreementSetting setting_;
  ProcessGroup& group_ = setting_.cluster.group();
  GradientExchange& exchange_ = *setting_.exchange;
  std::optional<HeldInterrupts> held_{std::in_place};
  std::int64_t build_ = BuildNumber(), step_ = 0, exchanges_ = 0;
  std::int64_t weights_ = 0;  // a sum, after the last update
  std::int64_t news_ = 0;     // flags of any process that nobody took so far
  double began_ = 0;          // the step, in seconds that are not of exchanges
  double clock_ = 0, seconds_ = 0;
  bool failed_elsewhere_ = false;
  std::optional<StepLosses> counted_;  // of all; nothing before the roll call
};

void StepOfSeveral::Begin(std::int64_t step) {
  step_ = step;
  if (!InterruptAsked()) held_.emplace();  // the last one was heeded, and forgotten since
  counted_.reset();
  failed_elsewhere_ = false;
  began_ = SteadySeconds() - seconds_;
}

void StepOfSeveral::Count(StepLosses& losses) {
  if (!counted_) Exchange([&] { Call(losses); });
  if (failed_elsewhere_) throw Error("another process of the run cannot compute its part of the step");
  ForEachTerm(losses, [&](const auto& task, const auto& term, TermLoss& loss) {
    loss.count = counted_->at(task).at(term).count;
  });
}

RollCall StepOfSeveral::Present(const std::vector<std::int64_t>& items, std::int64_t flags) {
  RollCall call{.build = build_,
                .step = step_,
                .exchanges = exchanges_++,
                .mixer = HashNumber(setting_.mixer.Save().dump()),
                .plan = SumOfPlan(setting_.mixer, setting_.plan),
                .weights = weights_,
                .flags = flags,
                .clock = SteadySeconds(),
                .item_count = std::ssize(items)};
  if (InterruptAsked()) call.flags |= RollCall::kStops;
  if (medley::TakeSaveRequest()) call.flags |= RollCall::kSaves;
  if (std::exchange(warned_, false)) call.flags |= RollCall::kGuards;
  std::copy_n(items.begin(), std::min(items.size(), call.items.size()), call.items.begin());
  return call;
}

// Before the first forward of a step. Where the place is not the same nothing else is exchanged.
void StepOfSeveral::Call(const StepLosses& own) {
  StepLosses losses = own;
  std::vector<std::int64_t> items;
  ForEachTerm(losses, [&](const auto&, const auto&, TermLoss& loss) {
    items.push_back(std::exchange(loss.count, 0));
  });
  const bool is_first = setting_.cluster.is_first();
  const std::optional<WeightsFile::Look> edit = is_first ? setting_.weights_file.News() : std::nullopt;
  std::int64_t flags = own.empty() ? RollCall::kFailed : 0;
  if (edit) flags |= edit->text ? RollCall::kEdited : RollCall::kNoWeights;
  const std::vector<RollCall> calls = GatherMessages(group_, Present(items, flags));
  RequireSamePlace(calls, step_);
  for (const RollCall& call : calls) flags |= call.flags;
  news_ |= flags & (RollCall::kSaves | RollCall::kGuards);
  failed_elsewhere_ = (flags & RollCall::kFailed) != 0;
  clock_ = calls.front().clock;
  ShareWeights(group_, edit, flags, setting_.weights_file);
  counted_ = std::move(losses);
  if ((flags & RollCall::kStops) != 0) {
    HeldInterrupts::Release();
    throw Interrupted();
  }
  if (!failed_elsewhere_) AddItems(group_, calls, items, *counted_);
}

std::optional<Failure> StepOfSeveral::Close(std::optional<Failure> own, const std::string& running,
                                            StepLosses& losses) {
  if (own && own->task.empty()) own->task = running;
  std::optional<Failure> failure;
  Exchange([&] {
    if (!counted_) Call({});
    failure = !failed_elsewhere_ ? AddUp(own, losses)
                                 : setting_.rounds.FirstOf(counted_->empty() ? own : std::nullopt);
  });
  return failure;
}

std::optional<Failure> StepOfSeveral::AddUp(const std::optional<Failure>& own, StepLosses& losses) {
  std::vector<double> own_sums;
  ForEachTerm(*counted_, [&](const auto& task, const auto& term, TermLoss&) {
    const bool is_there = !own && losses.count(task) > 0;
    own_sums.push_back(is_there ? losses.at(task).at(term).sum : 0.0);
  });
  const auto all = GatherMessages(
      group_, Closing(own.has_value(), SteadySeconds() - seconds_ - began_, exchange_.Used(), own_sums));
  ++exchanges_;
  if (std::ranges::any_of(all, [](const Closing& one) { return std::get<bool>(one); }))
    return setting_.rounds.FirstOf(own);
  seconds_of_ranks_.clear();
  std::vector<std::int64_t> used(exchange_.Used().size());
  for (const auto& [failed, seconds, here, sums] : all) {
    seconds_of_ranks_.push_back(seconds);
    for (std::size_t i = 0; i < used.size(); ++i) used[i] |= here[i];
  }
  if (auto failure = MakeRoom(exchange_, used, all, setting_.rounds)) return failure;
  std::size_t index = 0;
  ForEachTerm(losses, [&](const auto&, const auto&, TermLoss& loss) {
    loss.sum = 0;
    for (const Closing& one : all) loss.sum += std::get<3>(one)[index];
    ++index;
  });
  exchange_.Sum(used);
  return std::nullopt;
}

void StepOfSeveral::ReadClock() {
  Exchanging([&] { std::tie(clock_) = GatherMessages(group_, std::tuple(SteadySeconds())).front(); });
}

}  // namespace

std::unique_ptr<StepAgreement> MakeStepAgreement(const AgreementSetting& setting) {
  if (setting.exchange == nullptr) return std::make_unique<StepAgreement>();
  return std::make_unique<StepOfSeveral>(setting);
}

}  // namespace medley
