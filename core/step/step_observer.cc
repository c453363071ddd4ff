#include <medley/step/step_observer.h>

namespace medley {

StepObserver::~StepObserver() = default;

}  // namespace medley
