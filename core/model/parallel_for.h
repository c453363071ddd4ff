#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace medley {

// Calls `work` with ranges that together are [begin, end), each on a thread of libtorch's where it has
// `grain` numbers or more. To be used in the place of at::parallel_for, a template that without a word stays
// on one thread wherever its caller is compiled without OpenMP. What a range throws is thrown here.
void ParallelFor(std::int64_t begin, std::int64_t end, std::int64_t grain,
                 c10::function_ref<void(std::int64_t begin, std::int64_t end)> work);

}  // namespace medley
