// Built and run when configuring: libtorch links, starts, and says what it is.
#include <ATen/Version.h>
#include <torch/version.h>

#include <cstdio>

int main() {
  std::printf("HEADERS=%d.%d.%d\n%s\n", TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, TORCH_VERSION_PATCH,
              at::show_config().c_str());
  return 0;
}
