#include <medley/report/records.h>

namespace medley {

std::int64_t StepRecord::rows() const {
  std::int64_t rows = 0;
  for (const Draw& draw : draws) rows += draw.rows;
  return rows;
}

}  // namespace medley
