/**
 * The scene drawn once, a margin larger than what is seen, and copied from there while the user pans: a copy costs a fraction of
 * drawing thousands of boxes. Drawn anew when the zoom, the content or the theme changes, or the margin is used up.
 */
import type { Scene } from "../geometry/scene";
import { px, um } from "../geometry/units";
import type { Size, View } from "../geometry/view";
import { drawScene, type Shown } from "./draw";
import type { LayoutTheme } from "./theme";

/** Margin on each side, as a share of the layout's size. Larger means rarer redraws, each of them dearer. */
const MARGIN = 0.25;

export class Backdrop {
  private readonly context = document.createElement("canvas").getContext("2d", { alpha: false })!;
  private drawn: { view: View; size: Size } | null = null;

  /** The content has changed: the next copy needs a new drawing. */
  invalidate(): void {
    this.drawn = null;
  }

  /** Fills `target` with the scene as `view` shows it. `ratio` = device pixels a CSS pixel. */
  copy(
    target: CanvasRenderingContext2D,
    scene: Scene,
    view: View,
    size: Size,
    ratio: number,
    theme: LayoutTheme,
    shown: Shown,
  ): void {
    const offset = this.offset(view, size) ?? this.redraw(scene, view, size, ratio, theme, shown);
    // Whole device pixels, or the copy would be resampled and blurred.
    const x = Math.round(offset.x * ratio);
    const y = Math.round(offset.y * ratio);
    target.save();
    target.setTransform(1, 0, 0, 1, 0, 0);
    target.drawImage(this.context.canvas, -x, -y);
    target.restore();
  }

  /** Where the view lies in what is drawn, in CSS pixels; null if not wholly in it. */
  private offset(view: View, size: Size): { x: number; y: number } | null {
    if (!this.drawn || this.drawn.view.scale !== view.scale) return null;
    const x = (view.left - this.drawn.view.left) * view.scale;
    const y = (this.drawn.view.top - view.top) * view.scale;
    const inside =
      x >= 0 && y >= 0 && x + size.width <= this.drawn.size.width && y + size.height <= this.drawn.size.height;
    return inside ? { x, y } : null;
  }

  private redraw(scene: Scene, view: View, size: Size, ratio: number, theme: LayoutTheme, shown: Shown) {
    const margin = { x: size.width * MARGIN, y: size.height * MARGIN };
    const larger = { width: px(size.width + 2 * margin.x), height: px(size.height + 2 * margin.y) };
    const { canvas } = this.context;
    const width = Math.ceil(larger.width * ratio);
    const height = Math.ceil(larger.height * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const outer = {
      scale: view.scale,
      left: um(view.left - margin.x / view.scale),
      top: um(view.top + margin.y / view.scale),
    };
    drawScene(this.context, scene, outer, larger, theme, shown);
    this.drawn = { view: outer, size: larger };
    return margin;
  }
}
