#include <medley/task/drivers/labels.h>

#include <medley/base/error.h>

namespace medley {

void CheckDrawn(std::int64_t row, const std::string& what, std::int64_t drawn, std::int64_t count) {
  if (drawn >= 0 && drawn < count) return;
  throw Error("row " + std::to_string(row) + ": Draw gave " + std::to_string(drawn) + " as the " + what +
              "; expected 0 to " + std::to_string(count - 1));
}

}  // namespace medley
