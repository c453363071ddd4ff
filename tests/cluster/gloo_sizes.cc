#include <medley/cluster/gloo_backend.h>

#include <iostream>

int main() { std::cout << medley::kGlooSizes[0] << ' ' << medley::kGlooSizes[1] << '\n'; }
