#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <medley/model/model.h>
#include <medley/plugin/plugin_host.h>
#include <medley/train/shared_encodings.h>

namespace medley {

// What a pass did, for the comparison with its spec.
struct PassRecord {
  std::uint64_t first_node = 0, end_node = 0;  // autograd sequence numbers of the nodes that it made
  std::vector<std::string> images;  // keys of the pictures that the model got, in order; "": not by name
  std::set<std::string> inputs, outputs;  // of the model
  std::set<std::string> constants;
  std::set<std::string> carries_read;
  std::int64_t text_width = 0;
  int forwards = 0;
};

// One micro-batch of a draw while its passes run: the rows on the device, and what lives between passes
// (carries, shared encodings). Nothing of it outlives the object.
class MicroBatch {
 public:
  struct Setting {
    LoadedTask& task;
    const Model& model;
    at::Device device;
    std::uint64_t seed = 0;  // not used, for callers that still name it: rows bring theirs
    Sharing sharing = Sharing::kNode;
  };
  MicroBatch(const Setting& setting, const Batch& rows);
  ~MicroBatch();
  MicroBatch(const MicroBatch&) = delete;
  MicroBatch& operator=(const MicroBatch&) = delete;

  // Runs a pass of the variant; the graph is kept or not as the thread's grad mode says. An Error names task
  // and pass.
  Sums RunPass(const PassInfo& pass, PassRecord* record = nullptr);
  // The backward of this pass is over and it will not run again: frees what no other pass reads.
  void PassDone(const PassInfo& pass);
  // The backward of all passes is over: sends back what shared encodings still hold.
  void Flush();

  const std::map<std::string, at::Tensor, std::less<>>& carries() const { return carries_; }
  const SharedEncodings& encodings() const { return encodings_; }

 private:
  friend class RunningPass;

  // A byte column as floats in [0, 1], made once; read only.
  at::Tensor Picture(std::string_view column);

  Setting setting_;
  Batch batch_;
  at::ScalarType dtype_;  // of the model
  SharedEncodings encodings_;
  std::map<std::string, at::Tensor, std::less<>> pictures_;  // floats of byte columns
  std::map<std::string, at::Tensor, std::less<>> carries_;
};

}  // namespace medley
