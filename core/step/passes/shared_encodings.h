#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/config/mode.h>
#include <medley/model/model.h>
#include <medley/plugin/task_info.h>
#include <medley/step/step_observer.h>

namespace medley {

// How an encoding reaches the passes that use it.
enum class Sharing {
  kNode,  // one node of one graph: all passes are alive until the backward
  kLeaf,  // a detached leaf; its gradient goes back into the encoding once, after the last pass that reads
          // the picture
};

Sharing SharingOf(Mode mode);

// Whose encodings a pass can take: those of passes with a graph of the model's own weights; or of passes
// without one, of the same weights.
std::string SharerOf(const PassInfo& pass);

// Encodings of pictures that several passes of a micro-batch look at. Lives as long as the micro-batch, and
// never across two runs of the same pass. To be used on the thread of the passes.
class SharedEncodings {
 public:
  // `observer` hears of the backwards of encodings; null: nobody does.
  SharedEncodings(const VariantInfo& variant, Sharing sharing, StepObserver* observer = nullptr);
  // Shares among those passes of the variant that run.
  SharedEncodings(const VariantInfo& variant, const std::vector<const PassInfo*>& passes, Sharing sharing,
                  StepObserver* observer = nullptr);

  // The value of fn, among those of one sharer. `key` ends with the key of the picture, which says how many
  // passes read it; where that is one, or unknown, a leaf would cost memory and save nothing: fn just runs.
  at::Tensor Get(const std::string& sharer, const std::string& key, const ForwardContext::Fn& fn);

  // Do several passes get one node of that key?
  bool SharesNode(std::string_view sharer, std::string_view key) const {
    return sharing_ == Sharing::kNode && HasReaders(sharer, key);
  }

  // Passes that read the column as a picture and are not done yet.
  int Readers(std::string_view column) const;
  // The backward of this pass is over.
  void PassDone(const PassInfo& pass);
  // Sends back every gradient that still waits.
  void Flush();
  // No pass is to come that shares: of the values stays what the graphs have saved.
  void Release() { encodings_.clear(); }

  // Autograd sequence numbers [first, end) of the nodes that encodings made.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>>& node_ranges() const { return node_ranges_; }

 private:
  struct Encoding {
    at::Tensor value;
    at::Tensor leaf;  // undefined where no gradient is wanted
  };
  using Place = std::pair<std::string, std::string>;  // sharer, and key or column

  at::Tensor Make(const ForwardContext::Fn& fn);
  bool HasReaders(std::string_view sharer, std::string_view key) const;  // more than one
  void SendBack(Encoding encoding);

  Sharing sharing_;
  StepObserver* observer_;
  std::map<Place, int> readers_;
  std::map<Place, Encoding> encodings_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> node_ranges_;
  int depth_ = 0;
};

}  // namespace medley
