// NCCL of the fake GPU. libtorch_cuda.so is also where c10d's ProcessGroupNCCL lies, whose constructors
// medley_nccl.so calls. Here they make something smaller in the same place: it adds up on the CPU what the
// processes leave for each other in the store, and every call is done when it returns. FAKE_NCCL=refuses:
// they do not come together; FAKE_NCCL=hangs: nothing is ever done.
#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;

bool Faulty(std::string_view how) {
  const char *const fault = std::getenv("FAKE_NCCL"), *const rank = std::getenv("RANK");
  return fault != nullptr && rank != nullptr && fault == how && rank == std::string_view("1");
}

class FakeWork final : public c10d::Work {
 public:
  void synchronize() override {}
  bool wait(std::chrono::milliseconds timeout) override {
    if (!Faulty("hangs")) return true;
    std::this_thread::sleep_for(timeout);
    C10_THROW_ERROR(DistBackendError, "the fake NCCL hangs");
  }
};

class FakeNccl final : public c10d::Backend {
 public:
  FakeNccl(c10::intrusive_ptr<c10d::Store> store, int rank, int size)
      : Backend(rank, size), store_(std::move(store)) {}
  static void operator delete(void* memory) { ::operator delete(memory); }  // larger than this class

  const std::string getBackendName() const override { return "nccl"; }
  void setTimeout(std::chrono::milliseconds) override {}
  void eagerConnectSingleDevice(at::Device) override {
    if (Faulty("refuses")) C10_THROW_ERROR(DistBackendError, "the fake NCCL refuses");
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions&) override {
    return Put(tensors[0], Sum(tensors[0]));
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return Put(tensors[0], Gather(tensors[0])[static_cast<std::size_t>(options.rootRank)]);
  }
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& all, at::Tensor& own,
                                                 const c10d::AllgatherOptions&) override {
    return Put(all, at::cat(Gather(own)));
  }
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& own, at::Tensor& all,
                                                      const c10d::ReduceScatterOptions&) override {
    return Put(own, Sum(all).narrow(0, rank_ * own.numel(), own.numel()));
  }

 private:
  // Every process's, on the CPU.
  std::vector<at::Tensor> Gather(const at::Tensor& own) {
    TORCH_CHECK(own.is_cuda() && own.is_contiguous(), "NCCL takes contiguous tensors of the GPU");
    const auto* const first = static_cast<const std::uint8_t*>(own.const_data_ptr());
    const std::string call = std::to_string(calls_++) + ".";
    store_->set(call + std::to_string(rank_), Bytes(first, first + own.nbytes()));
    std::vector<at::Tensor> all;
    for (int rank = 0; rank < size_; ++rank) {
      const Bytes bytes = store_->get(call + std::to_string(rank));
      TORCH_CHECK(bytes.size() == own.nbytes(), "NCCL would have read beyond the end");
      all.push_back(at::empty({own.numel()}, own.scalar_type()));
      std::memcpy(all.back().mutable_data_ptr(), bytes.data(), bytes.size());
    }
    if (calls_ > 2)
      store_->deleteKey(std::to_string(calls_ - 3) + "." + std::to_string(rank_));  // read by all
    return all;
  }
  at::Tensor Sum(const at::Tensor& own) {
    const std::vector<at::Tensor> all = Gather(own);
    at::Tensor sum = all[0];
    for (std::size_t rank = 1; rank < all.size(); ++rank) sum += all[rank];
    return sum;
  }
  static c10::intrusive_ptr<c10d::Work> Put(at::Tensor& target, const at::Tensor& values) {
    std::memcpy(target.mutable_data_ptr(), values.const_data_ptr(), target.nbytes());
    return c10::make_intrusive<FakeWork>();
  }

  c10::intrusive_ptr<c10d::Store> store_;
  std::int64_t calls_ = 0;
};

class FakeOptions final : public c10d::Backend::Options {
 public:
  FakeOptions() : Options("nccl") {}
  static void operator delete(void* memory) { ::operator delete(memory); }
};

}  // namespace

// Under the names of c10d::ProcessGroupNCCL::Options::Options(bool) and of ProcessGroupNCCL's constructor.
using StorePointer = c10::intrusive_ptr<c10d::Store>;
using OptionsPointer = c10::intrusive_ptr<c10d::Backend::Options>;
void MakeOptions(void* place, bool) __asm__("_ZN4c10d16ProcessGroupNCCL7OptionsC1Eb");
void MakeGroup(void* place, StorePointer store, int rank, int size, OptionsPointer options) __asm__(
    "_ZN4c10d16ProcessGroupNCCLC1EN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_"
    "null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_IS8_EEEE");

void MakeOptions(void* place, bool) { new (place) FakeOptions; }

// The options end here: who calls knows them as larger ones.
void MakeGroup(void* place, StorePointer store, int rank, int size, OptionsPointer options) {
  const auto ended = std::move(options);
  new (place) FakeNccl(std::move(store), rank, size);
}
