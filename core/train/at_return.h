#pragma once

namespace medley {

// What training leaves that has come as far as it was asked to, while the run goes on. A run that ends or is
// interrupted is saved in both cases.
enum class AtReturn {
  kSaved,    // a checkpoint, and words about where the run stands
  kUnsaved,  // nothing: who goes on does so as if it had not stopped
};

}  // namespace medley
