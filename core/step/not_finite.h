#pragma once

#include <medley/base/error.h>

namespace medley {

// A loss or a gradient is NaN or infinite. Nothing was updated.
class NotFiniteError : public Error {
 public:
  using Error::Error;
  ~NotFiniteError() override;
};

}  // namespace medley
