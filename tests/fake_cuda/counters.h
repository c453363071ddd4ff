#pragma once

#include <string>

// What a step costs that a CPU's clock does not show: what the host asks of the device. Where the
// environment's MEDLEY_FAKE_CUDA_COUNTS names a file, each reset of the device's peak writes what came since
// the last one to it, as a line of JSON: of each kind how often, by name. medley resets it four times a step
// of one draw (StepMeter): where a step and its draw begin and end.
namespace medley::fake_cuda {

enum class Count {
  kOperators,    // what is one launch or more on a GPU; a view is none, a copy within the device one
  kWaits,        // the host waits for what the device has been asked for
  kPageable,     // copies to the device from memory that is not page-locked, which are waits too
  kAllocations,  // of the device's memory
};

void Add(Count kind, const std::string& name);
void WriteCounts();

// As long as that lives, this thread is inside an operator, whose own parts do not count.
class InsideOperator {
 public:
  InsideOperator();
  ~InsideOperator();
  InsideOperator(const InsideOperator&) = delete;
  InsideOperator& operator=(const InsideOperator&) = delete;
};

}  // namespace medley::fake_cuda

// One more operator: for a stand-in of medley_kernels.so, which finds it as a weak symbol.
extern "C" void medley_fake_cuda_launched();
