#include <medley/kernels/dynamic_code.h>

#include <algorithm>
#include <vector>

namespace medley::kernels {

std::array<float, 256> DynamicMap(Map map) {
  constexpr int kDecades = 7;
  std::vector<double> values = {0, 1};
  double power = 1e-6;
  int parts = map == Map::kSigned ? 1 : 2;
  for (int decade = 0; decade < kDecades; ++decade, power *= 10, parts *= 2) {
    for (int part = 0; part < parts; ++part) {
      const double middle = power * (0.1 + 0.9 * (part + 0.5) / parts);
      values.push_back(middle);
      if (map == Map::kSigned) values.push_back(-middle);
    }
  }
  std::sort(values.begin(), values.end());
  std::array<float, 256> table{};
  std::transform(values.begin(), values.end(), table.begin(),
                 [](double value) { return static_cast<float>(value); });
  return table;
}

}  // namespace medley::kernels
