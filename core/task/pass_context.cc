#include <medley/task/pass_context.h>

namespace medley {

// Out of line: one vtable and one type_info for libmedley and every plugin.
PassContext::~PassContext() = default;
EvalPass::~EvalPass() = default;
EvalContext::~EvalContext() = default;

}  // namespace medley
