// Exceptions through several frames, with and without clean-up in between, and virtual calls.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area(int n) const = 0;
};
struct Square : Shape {
    double area(int n) const override { return double(n) * n; }
};
struct Fan : Shape {
    double area(int n) const override {
        double sum = 0;
        for (int i = 1; i <= n; i++) sum += 1.0 / i;
        return sum;
    }
};

__attribute__((noinline)) int inner(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += i;
        if (i == 13) throw std::runtime_error("thirteen");
    }
    return sum;
}

// Nothing to clean up: the exception passes this frame without stopping.
__attribute__((noinline)) int plain(int n) {
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += inner(n + i);
    return sum;
}

__attribute__((noinline)) int cleaning(int n) {
    std::vector<std::string> strings(3, std::string(40, 'x'));
    for (auto &s : strings) s += std::to_string(plain(n));
    return int(strings[2].size());
}

__attribute__((noinline)) int after(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum ^= i * 3;
    return sum;
}

__attribute__((noinline)) int outer(int n) {
    try {
        return cleaning(n);
    } catch (const std::exception &e) {
        return -after(n);
    }
}

// Catches what passed frames that did not stop it.
__attribute__((noinline)) int direct(int n) {
    try {
        return plain(n);
    } catch (const std::exception &) {
        return -after(n);
    }
}

int main() {
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 10; i++) shapes.emplace_back(i % 3 ? static_cast<Shape *>(new Square) : new Fan);
    double sum = 0;
    for (auto &shape : shapes) sum += shape->area(50);
    int total = 0;
    for (int n = 5; n < 20; n++) total += outer(n) + direct(n);
    std::printf("%g %d\n", sum, total);
}
