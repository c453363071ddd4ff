#include <medley/step/not_finite.h>

namespace medley {

NotFiniteError::~NotFiniteError() = default;

}  // namespace medley
