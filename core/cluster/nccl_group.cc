#include <medley/cluster/nccl_group.h>

#include <dlfcn.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include <medley/base/version.h>
#include <medley/cluster/backend_group.h>
#include <medley/cluster/nccl_module.h>

namespace medley {
namespace {

// For each other, once all are known to be there.
constexpr std::chrono::minutes kConnectTimeout{2};

std::filesystem::path NcclLibrary() { return LibraryDirectory() / "medley" / "medley_nccl.so"; }

// Null where it was not built, or libtorch_cuda.so is not open: then dlerror has words.
MakeNccl* FindMakeNccl() {
  void* const handle = dlopen(NcclLibrary().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return handle == nullptr ? nullptr : reinterpret_cast<MakeNccl*>(dlsym(handle, kMakeNccl));
}

// Waits on the host only in Settle: a step's buckets follow each other on the GPU.
class NcclGroup final : public BackendGroup {
 public:
  using BackendGroup::BackendGroup;
  // Never shutdown(), which waits for the others: they may be why this one ends.
  ~NcclGroup() override {
    try {
      backend().abort();
    } catch (const std::exception&) {  // the process ends anyway
    }
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  void Settle() override {
    if (!last_) return;
    TellOfPeers([this] { last_->wait(timeout()); });
    last_.reset();
  }

  void SetTimeout(std::chrono::milliseconds timeout) override {
    BackendGroup::SetTimeout(timeout);
    backend().setTimeout(timeout);
  }

 protected:
  // Each waits for those before it.
  void Await(const c10::intrusive_ptr<c10d::Work>& work) override {
    work->synchronize();
    last_ = work;
  }

 private:
  c10::intrusive_ptr<c10d::Work> last_;
};

// While it lives, another time is waited for keys of the store.
class KeyTimeout {
 public:
  KeyTimeout(c10d::Store& store, std::chrono::milliseconds timeout)
      : store_(store), before_(store.getTimeout()) {
    store_.setTimeout(timeout);
  }
  ~KeyTimeout() { store_.setTimeout(before_); }
  KeyTimeout(const KeyTimeout&) = delete;
  KeyTimeout& operator=(const KeyTimeout&) = delete;

 private:
  c10d::Store& store_;
  std::chrono::milliseconds before_;
};

}  // namespace

std::string NcclProblem() {
  const char* const wish = std::getenv("MEDLEY_NCCL");
  if (wish != nullptr && std::string_view(wish) == "0") return "MEDLEY_NCCL is 0";
  if (!std::filesystem::exists(NcclLibrary()))
    return "medley_nccl.so is not there: it is built where nccl.h is, which tools/setup gets";
  if (FindMakeNccl() == nullptr) return std::string("medley_nccl.so cannot be opened: ") + dlerror();
  return "";
}

std::unique_ptr<ProcessGroup> JoinNccl(const c10::intrusive_ptr<c10d::Store>& store, std::int64_t rank,
                                       std::int64_t size, at::Device device,
                                       std::chrono::milliseconds timeout, std::shared_ptr<Peers> peers) {
  const std::string problem = NcclProblem();
  if (!problem.empty()) throw Error("there is no NCCL: " + problem);
  const auto own = c10::make_intrusive<c10d::PrefixStore>("nccl", store);
  c10::intrusive_ptr<c10d::Backend> backend;
  FindMakeNccl()(backend, own, static_cast<int>(rank), static_cast<int>(size), timeout);
  auto group = std::make_unique<NcclGroup>(backend, device, timeout, std::move(peers));
  const KeyTimeout hurry(*own, kConnectTimeout);
  backend->eagerConnectSingleDevice(device);
  return group;
}

}  // namespace medley
