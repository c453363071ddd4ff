#include <medley/cluster/group.h>

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>

namespace medley {
namespace {

class One final : public ProcessGroup {
 public:
  std::int64_t rank() const override { return 0; }
  std::int64_t size() const override { return 1; }
  at::Device device() const override { return at::kCPU; }
  void AllReduce(at::Tensor&) override {}
  void Broadcast(at::Tensor&, std::int64_t) override {}
  void AllGather(at::Tensor& all, const at::Tensor& own) override { all.copy_(own); }
  void ReduceScatter(at::Tensor& own, const at::Tensor& all) override { own.copy_(all); }
  void Settle() override {}
  void SetTimeout(std::chrono::milliseconds) override {}
};

// One number of each.
std::vector<std::int64_t> GatherOne(ProcessGroup& group, std::int64_t number) {
  std::vector<std::int64_t> numbers;
  for (const auto& list : GatherNumbers(group, {number})) numbers.push_back(list.front());
  return numbers;
}

}  // namespace

PeerError::PeerError(const std::string& message) : Error(message, ExitCode::kPeerFailed) {}
PeerError::~PeerError() = default;
ExchangeError::~ExchangeError() = default;

ProcessGroup::~ProcessGroup() = default;

std::unique_ptr<ProcessGroup> GroupOfOne() { return std::make_unique<One>(); }

std::vector<std::vector<std::int64_t>> GatherNumbers(ProcessGroup& group,
                                                     const std::vector<std::int64_t>& own) {
  if (group.size() == 1) return {own};  // costs nothing
  const auto count = static_cast<std::int64_t>(own.size());
  at::Tensor numbers = at::empty({count}, at::kLong), all = at::empty({count * group.size()}, at::kLong);
  std::copy(own.begin(), own.end(), numbers.mutable_data_ptr<std::int64_t>());
  group.AllGather(all, numbers);
  const std::int64_t* first = all.const_data_ptr<std::int64_t>();
  std::vector<std::vector<std::int64_t>> lists;
  for (std::int64_t rank = 0; rank < group.size(); ++rank, first += count)
    lists.emplace_back(first, first + count);
  return lists;
}

std::vector<std::vector<std::int64_t>> GatherLists(ProcessGroup& group, std::vector<std::int64_t> own) {
  const auto sizes = GatherOne(group, std::ssize(own));
  own.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, *std::ranges::max_element(sizes))));
  auto all = GatherNumbers(group, own);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    all[rank].resize(static_cast<std::size_t>(sizes[rank]));
  return all;
}

void Barrier(ProcessGroup& group) { GatherNumbers(group, {0}); }

std::string Broadcast(ProcessGroup& group, const std::string& text, std::int64_t from) {
  std::string shared = text;
  shared.resize(static_cast<std::size_t>(GatherOne(group, std::ssize(text))[static_cast<std::size_t>(from)]));
  at::Tensor bytes = at::empty({std::ssize(shared)}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), shared.data(), shared.size());
  if (!shared.empty()) group.Broadcast(bytes, from);
  return {static_cast<const char*>(bytes.const_data_ptr()), shared.size()};
}

bool EndsTheRun(const std::exception& error) {
  return dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr ||
         dynamic_cast<const PeerError*>(&error) != nullptr ||
         dynamic_cast<const ExchangeError*>(&error) != nullptr;
}

}  // namespace medley
