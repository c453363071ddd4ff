#include <medley/train/step_agreement.h>

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <string_view>
#include <utility>

#include <medley/base/clock.h>
#include <medley/base/durable_file.h>
#include <medley/base/file_digest.h>
#include <medley/base/files.h>
#include <medley/run/validate.h>
#include <medley/train/exchanging.h>

namespace medley {
namespace {

using nlohmann::json;

// The first 60 bits of a sum.
std::int64_t NumberOf(std::string_view text) { return std::stoll(HashText(text).substr(0, 15), nullptr, 16); }

// Adds how long it lives.
class ExchangeWatch {
 public:
  explicit ExchangeWatch(double& seconds) : seconds_(seconds) {}
  ~ExchangeWatch() { seconds_ += SteadySeconds() - begin_; }
  ExchangeWatch(const ExchangeWatch&) = delete;
  ExchangeWatch& operator=(const ExchangeWatch&) = delete;

 private:
  double& seconds_;
  double begin_ = SteadySeconds();
};

bool AnyFailed(const std::vector<std::vector<std::int64_t>>& all) {
  return std::any_of(all.begin(), all.end(), [](const auto& list) { return list.front() != 0; });
}

std::vector<std::int64_t> ItemsOf(const StepLosses& losses) {
  std::vector<std::int64_t> items;
  for (const auto& [task, terms] : losses) {
    for (const auto& [term, loss] : terms) items.push_back(loss.count);
  }
  return items;
}

}  // namespace

StepAgreement::StepAgreement(const Run& run, const PlanInForce& plan, const std::filesystem::path& weights)
    : run_(run), plan_(plan), cluster_(*run.cluster), weights_(weights), watch_(weights) {
  if (alone()) return;
  held_.emplace();
  ReadClock();
  for (const auto& list : {run.optimizer->weights().list(), run.optimizer->State()}) {
    for (const Parameter& parameter : list) {
      at::Tensor values = parameter.tensor.detach();
      at::Tensor here = values.cpu().contiguous();
      cluster_.group().Broadcast(here, 0);
      values.copy_(here);
    }
  }
  run.optimizer->weights().Round();
  for (ProcessGroup* group : {&cluster_.group(), &cluster_.gradients()})
    group->SetTimeout(std::chrono::seconds(run.config.peer_timeout));
}

std::vector<Draw> StepAgreement::OwnPart(const std::vector<Draw>& draws) const {
  if (alone()) return draws;
  std::vector<std::string> tasks;
  for (const Draw& draw : draws) tasks.push_back(draw.task);
  const std::vector<std::int64_t> costs = RowCosts(tasks);
  std::vector<CostedDraw> costed;
  for (std::size_t i = 0; i < draws.size(); ++i) costed.push_back({draws[i], costs[i]});
  const auto parts = AssignRows(costed, cluster_.place().size);
  return parts[static_cast<std::size_t>(cluster_.place().rank)];
}

std::vector<std::string> StepAgreement::OwnTasks(const std::vector<std::string>& tasks) const {
  if (alone()) return tasks;
  const std::vector<std::int64_t> owners = AssignWhole(RowCosts(tasks), cluster_.place().size);
  std::vector<std::string> own;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (owners[i] == cluster_.place().rank) own.push_back(tasks[i]);
  }
  return own;
}

// What a row of each costs, in one unit: counted work where the plan has that of all, else declared tokens.
std::vector<std::int64_t> StepAgreement::RowCosts(const std::vector<std::string>& tasks) const {
  std::vector<std::int64_t> work, tokens;
  for (const std::string& task : tasks) {
    const TaskSize size = SizeOf(run_.host->Variant(plan_.FormOf(task)), 1);
    tokens.push_back(std::max<std::int64_t>(1, size.tokens_per_row));
    if (const auto operations = plan_.OperationsOf(task)) work.push_back(*operations);
  }
  return work.size() == tasks.size() ? work : tokens;
}

void StepAgreement::Begin(std::int64_t step) {
  step_ = step;
  if (held_ && !InterruptAsked()) held_.emplace();  // the last one was heeded, and forgotten since
  counted_.reset();
  failed_elsewhere_ = false;
  began_ = SteadySeconds() - seconds_in_exchanges_;
}

double StepAgreement::seconds_in_exchanges() const {
  return seconds_in_exchanges_ + (alone() ? 0 : run_.exchange->seconds_spreading());
}

void StepAgreement::Count(StepLosses& losses) {
  if (alone()) return;
  const ExchangeWatch watch(seconds_in_exchanges_);
  if (!counted_) Exchanging([&] { Call(losses); });
  if (failed_elsewhere_) throw Error("another process of the run cannot compute its part of the step");
  for (auto& [task, terms] : losses) {
    for (auto& [term, loss] : terms) loss.count = counted_->at(task).at(term).count;
  }
}

RollCall StepAgreement::Present(const StepLosses& losses) {
  RollCall call{.step = step_,
                .mixer = NumberOf(run_.mixer->Save().dump()),
                .plan = PlanSum(),
                .weights = last_update_,
                .exchanges = exchanges_++,
                .stops = InterruptAsked(),
                .saves = medley::TakeSaveRequest(),
                .guards = std::exchange(warned_, false),
                .failed = losses.empty(),
                .items = ItemsOf(losses)};
  if (!cluster_.is_first()) return call;
  call.clock = SteadySeconds();
  watch_saw_ = watch_saw_ || watch_.Changed();
  if (watch_saw_) {
    look_ = Look(weights_);
    call.edited = true;
  }
  return call;
}

std::vector<RollCall> StepAgreement::GatherCalls(const RollCall& own) {
  std::vector<RollCall> calls;
  for (const auto& numbers : GatherNumbers(cluster_.group(), ToNumbers(own)))
    calls.push_back(RollCallOf(numbers.data()));
  const std::string difference = Difference(calls);
  if (!difference.empty())
    throw Error("the processes of the run no longer do the same: before step " + std::to_string(step_) + " " +
                difference +
                ". Nothing was exchanged. Do all have the same files, plugins, libraries and budget? " +
                "Otherwise it is a bug of medley's; the last checkpoint is intact");
  return calls;
}

// Those that had no room in a roll call. All agree on the step, so on their number too.
void StepAgreement::GatherItems(std::vector<RollCall>& calls, const std::vector<std::int64_t>& own) {
  if (own.size() <= kRollCallItems) return;
  const auto all = GatherNumbers(cluster_.group(), own);
  for (std::size_t rank = 0; rank < calls.size(); ++rank) calls[rank].items = all[rank];
}

void StepAgreement::Call(const StepLosses& own) {
  const RollCall mine = Present(own);
  std::vector<RollCall> calls = GatherCalls(mine);
  bool stops = false;
  for (const RollCall& call : calls) {
    stops = stops || call.stops;
    saves_ = saves_ || call.saves;
    warning_ = warning_ || call.guards;
    failed_elsewhere_ = failed_elsewhere_ || call.failed;
  }
  clock_ = calls.front().clock;
  if (calls.front().edited) ShareWeights();
  counted_ = own;
  if (stops) {
    HeldInterrupts::Release();
    throw Interrupted();
  }
  if (failed_elsewhere_) return;
  GatherItems(calls, mine.items);
  std::size_t index = 0;
  for (auto& [task, terms] : *counted_) {
    for (auto& [term, loss] : terms) {
      loss.count = 0;
      for (const RollCall& call : calls) loss.count += call.items[index];
      ++index;
    }
  }
}

void StepAgreement::ShareWeights() {
  constexpr char kText = 't', kProblem = 'p';
  const std::string first =
      Broadcast(cluster_.group(), look_.text ? kText + *look_.text : kProblem + look_.problem);
  look_ = {};
  (first.front() == kText ? look_.text.emplace() : look_.problem) = first.substr(1);
  edit_is_new_ = true;
  watch_saw_ = false;
}

std::optional<Failure> StepAgreement::Close(std::optional<Failure> own, const std::string& running,
                                            StepLosses& losses) {
  if (alone()) return own;
  const ExchangeWatch watch(seconds_in_exchanges_);
  std::optional<Failure> failure;
  Exchanging([&] {
    if (!counted_) Call({});
    failure = failed_elsewhere_ ? FirstOf(counted_->empty() ? own : std::nullopt, running)
                                : AddUp(std::move(own), running, losses);
  });
  return failure;
}

// Each one's numbers are [failed, seconds that it worked, gradients that exist, sums], as many on all.
std::optional<Failure> StepAgreement::AddUp(std::optional<Failure> own, const std::string& running,
                                            StepLosses& losses) {
  constexpr std::size_t kHead = 2;
  ProcessGroup& group = cluster_.group();
  GradientExchange& exchange = *run_.exchange;
  const double worked = SteadySeconds() - seconds_in_exchanges_ - began_;
  std::vector<std::int64_t> numbers = {own ? 1 : 0, std::bit_cast<std::int64_t>(worked)};
  const std::vector<std::int64_t> here = exchange.Used();
  numbers.insert(numbers.end(), here.begin(), here.end());
  for (const auto& [task, terms] : *counted_) {
    for (const auto& [term, loss] : terms) {
      const bool is_there = !own && losses.count(task) > 0;
      numbers.push_back(std::bit_cast<std::int64_t>(is_there ? losses.at(task).at(term).sum : 0.0));
    }
  }
  const auto all = GatherNumbers(group, numbers);
  ++exchanges_;
  if (AnyFailed(all)) return FirstOf(own, running);
  seconds_of_ranks_.clear();
  std::vector<std::int64_t> used(here.size());
  for (const auto& list : all) {
    seconds_of_ranks_.push_back(std::bit_cast<double>(list[1]));
    for (std::size_t i = 0; i < used.size(); ++i) used[i] |= list[kHead + i];
  }
  const auto lacks = [&](const auto& list) {
    return !std::equal(used.begin(), used.end(), list.begin() + kHead);
  };
  if (std::any_of(all.begin(), all.end(), lacks)) {  // some make room for what others used
    try {
      exchange.Prepare(used);
    } catch (const c10::OutOfMemoryError& error) {
      own = Failure::Of(error, "no room for the gradients of other processes: ");
    }
    if (AnyFailed(GatherNumbers(group, {own ? 1 : 0}))) return FirstOf(own, "");
  } else {
    exchange.Prepare(used);
  }
  std::size_t index = kHead + here.size();
  for (auto& [task, terms] : losses) {
    for (auto& [term, loss] : terms) {
      loss.sum = 0;
      for (const auto& list : all) loss.sum += std::bit_cast<double>(list[index]);
      ++index;
    }
  }
  exchange.Sum(used);
  return std::nullopt;
}

// That of the lowest rank, on all.
Failure StepAgreement::FirstOf(const std::optional<Failure>& own, const std::string& running) {
  std::string words;
  if (own) {
    Failure said = *own;
    if (said.task.empty()) said.task = running;
    words = ToJson(said).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  const std::vector<std::string> all = Gather(cluster_.group(), words);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    Failure failure = FailureFrom(json::parse(all[rank]));
    failure.reason = "rank " + std::to_string(rank) + ": " + failure.reason;
    return failure;
  }
  throw Error("a process of the run failed and does not say why");
}

void StepAgreement::WaitForAll() {
  if (alone()) return;
  try {
    Barrier(cluster_.group());
  } catch (const PeerError&) {
    if (!cluster_.is_first()) throw;  // it saved
  }
}

std::string StepAgreement::FirstsWords(const std::function<std::string()>& words) {
  return Broadcast(cluster_.group(), cluster_.is_first() ? words() : "");
}

std::vector<std::string> StepAgreement::Everyones(const std::string& own) {
  std::vector<std::string> all;
  Exchanging([&] { all = Gather(cluster_.group(), own); });
  return all;
}

void StepAgreement::AllOrNone(const std::function<void()>& work) {
  const double begin = SteadySeconds();
  std::exception_ptr error;
  std::optional<Failure> own, first;
  try {
    work();
  } catch (const PeerError&) {
    throw;
  } catch (const ExchangeError&) {
    throw;
  } catch (const std::exception& caught) {
    error = std::current_exception();
    own = Failure::Of(caught);
  }
  double seconds = SteadySeconds() - begin;
  bool is_mine = alone();
  if (!alone()) {
    Exchanging([&] {
      const auto all = GatherNumbers(cluster_.group(), {own ? 1 : 0, std::bit_cast<std::int64_t>(seconds)});
      seconds = std::bit_cast<double>(all.front()[1]);
      if (!AnyFailed(all)) return;
      const auto failed = std::find_if(all.begin(), all.end(), [](const auto& one) { return one[0] != 0; });
      is_mine = failed - all.begin() == cluster_.place().rank;
      first = FirstOf(own, "");
    });
  }
  seconds_together_ += seconds;
  if (error && is_mine) std::rethrow_exception(error);
  if (!first) return;
  if (first->of_the_machine) throw FileError(first->reason, 0);
  throw Error(first->reason, first->code);
}

bool StepAgreement::Any(bool own) {
  if (alone()) return own;
  bool any = false;
  Exchanging([&] { any = AnyFailed(GatherNumbers(cluster_.group(), {own ? 1 : 0})); });
  return any;
}

// A piece of one parameter, another one at each step: a process whose weights differ is found in time.
void StepAgreement::Updated() {
  if (alone()) return;
  constexpr std::int64_t kPiece = 1 << 14;  // numbers
  const auto& weights = run_.optimizer->weights().list();
  const at::Tensor flat = weights[static_cast<std::size_t>(step_) % weights.size()].tensor.detach().flatten();
  const std::int64_t pieces = std::max<std::int64_t>(1, flat.numel() / kPiece);
  const std::int64_t begin = step_ / std::ssize(weights) % pieces * kPiece;
  const at::Tensor piece = flat.narrow(0, begin, std::min(kPiece, flat.numel() - begin)).cpu().contiguous();
  last_update_ = NumberOf({static_cast<const char*>(piece.const_data_ptr()), piece.nbytes()});
}

std::int64_t StepAgreement::PlanSum() const {
  std::string words;
  for (const std::string& task : run_.mixer->mixture().Active()) {
    const FormId form = plan_.IdOf(task);
    words += form.text() + " " + std::to_string(plan_.RowsOf(task).value_or(0)) + " " +
             std::to_string(plan_.OperationsOf(task).value_or(0)) + "\n";
  }
  return NumberOf(words);
}

void StepAgreement::ReadClock() {
  if (alone()) return;
  Exchanging([&] { clock_ = std::stod(FirstsWords([] { return std::to_string(SteadySeconds()); })); });
}

double StepAgreement::clock() const { return alone() ? SteadySeconds() : clock_; }

bool StepAgreement::TakeSaveRequest() {
  return alone() ? medley::TakeSaveRequest() : std::exchange(saves_, false);
}

bool StepAgreement::TakeWarning() {
  return alone() ? std::exchange(warned_, false) : std::exchange(warning_, false);
}

bool StepAgreement::WeightsMayHaveChanged() {
  return alone() ? watch_.Changed() : std::exchange(edit_is_new_, false);
}

WeightsFileLook StepAgreement::ReadWeights() const { return alone() ? Look(weights_) : look_; }

WeightsFileLook StepAgreement::Look(const std::filesystem::path& file) {
  try {
    return {.text = ReadFile(file, kLargestWeightsFile), .problem = ""};
  } catch (const InputError& error) {
    return {.text = std::nullopt, .problem = error.what()};
  }
}

}  // namespace medley
