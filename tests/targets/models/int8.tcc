// A product of 8-bit integers with zero points, and its result quantised again.
graph @int8(%x: i8[4, 9]) {
  %w = constant {value = i8[9, 7] [-109, -66, -91, -63, -49, -110, 101, -63, 107, 67, -84, 50, 70, -96, -95, -32, -111, -21, -6, 42, 18, -12, -72, 22, -12, 86, 50, 57, 18, -35, -56, -14, 18, -34, -91, -100, -117, -76, -24, -56, -83, -48, 54, -48, 107, 19, -93, 120, 97, 70, -88, 74, 51, 66, 54, 24, -41, 106, 123, 48, -37, 0, 15]}
  %zx = constant {value = i16[] [3]}
  %zw = constant {value = i16[] [-2]}
  %0 = cast %x {to = i16, saturate = true}
  %1 = sub %0, %zx
  %2 = cast %w {to = i16, saturate = true}
  %3 = sub %2, %zw
  %4 = contract %1, %3 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = i32}
  %5 = cast %4 {to = f32, saturate = true}
  %scale = constant {value = f32[] [0.001953125]}
  %6 = mul %5, %scale
  %7 = round %6
  %8 = cast %7 {to = i8, saturate = true}
  return %8 as "y"
}
