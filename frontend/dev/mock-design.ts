/** Made-up layouts: banks of equal memories in rows along the edges, soft macros in the middle, ports around. */
import type { LayoutRead } from "../src/api/types";

/** Numbers in [0, 1) from a seed: a linear congruential generator, good enough for pictures. */
function chance(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function makeLayout(hard: number, soft: number, seed: number): LayoutRead {
  const random = chance(seed);
  const side = Math.sqrt(hard) * 110;
  const layout: LayoutRead = {
    canvas: {
      width_um: side,
      height_um: side,
      columns: 35,
      rows: 33,
      hor_routes_per_um: 70.33,
      ver_routes_per_um: 74.51,
      hor_macro_routes_per_um: 51.79,
      ver_macro_routes_per_um: 51.79,
      smoothing: 2,
      utilisation: 0.54,
    },
    name: [],
    kind: [],
    width_um: [],
    height_um: [],
    x_um: [],
    y_um: [],
    orientation: [],
    fixed: [],
    blockages_um: [],
    nets: [],
  };
  const add = (
    name: string,
    kind: number,
    width: number,
    height: number,
    x: number,
    y: number,
    orientation: string,
  ) => {
    layout.name.push(name);
    layout.kind.push(kind);
    layout.width_um.push(width);
    layout.height_um.push(height);
    layout.x_um.push(x);
    layout.y_um.push(y);
    layout.orientation.push(orientation);
    layout.fixed.push(false);
  };
  const perRow = Math.ceil(Math.sqrt(hard));
  for (let i = 0; i < hard; i++) {
    const bank = Math.floor((i * 6) / hard);
    const [width, height] = [
      [88, 62],
      [72, 92],
      [60, 60],
      [95, 40],
      [50, 80],
      [70, 50],
    ][bank]!;
    const x = ((i % perRow) + 0.5) * (side / perRow);
    const y = (Math.floor(i / perRow) + 0.5) * (side / perRow);
    add(
      `u_core/i_${["dcache", "icache", "l2", "tag", "rf", "fifo"][bank]}/bank[${i}].sram`,
      0,
      width!,
      height!,
      x,
      y,
      ["N", "FN", "S", "FS"][i % 4]!,
    );
  }
  for (let i = 0; i < soft; i++) {
    const size = side * (0.008 + 0.03 * random());
    add(`Grp_${i}`, 1, size, size, side * (0.1 + 0.8 * random()), side * (0.1 + 0.8 * random()), "N");
  }
  for (let i = 0; i < 495; i++) {
    const at = ((i % 124) / 124) * side;
    const [x, y] = [
      [0, at],
      [side, at],
      [at, 0],
      [at, side],
    ][i % 4]!;
    add(`port_${i}`, 2, 0, 0, x!, y!, "N");
  }
  const nodes = layout.name.length;
  layout.nets = Array.from({ length: 600 }, () =>
    Array.from({ length: 2 + Math.floor(random() * 3) }, () => Math.floor(random() * nodes)),
  );
  return layout;
}

/** The same nodes somewhat elsewhere: hard macros change places, soft ones drift. */
export function shake(layout: LayoutRead, seed: number): LayoutRead {
  const random = chance(seed + 1);
  const x = [...layout.x_um];
  const y = [...layout.y_um];
  const hard = layout.kind.filter((kind) => kind === 0).length;
  for (let i = 0; i < hard / 6; i++) {
    const a = Math.floor(random() * hard);
    const b = Math.floor(random() * hard);
    [x[a], x[b]] = [x[b]!, x[a]!];
    [y[a], y[b]] = [y[b]!, y[a]!];
  }
  for (let i = 0; i < x.length; i++) {
    if (layout.kind[i] !== 1) continue;
    x[i]! += (random() - 0.5) * layout.canvas.width_um * 0.1;
    y[i]! += (random() - 0.5) * layout.canvas.height_um * 0.1;
  }
  return { ...layout, x_um: x, y_um: y };
}
