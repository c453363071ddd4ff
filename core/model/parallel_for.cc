#include <medley/model/parallel_for.h>

#include <ATen/Parallel.h>

namespace medley {

void ParallelFor(std::int64_t begin, std::int64_t end, std::int64_t grain,
                 c10::function_ref<void(std::int64_t, std::int64_t)> work) {
  at::parallel_for(begin, end, grain, work);
}

}  // namespace medley
