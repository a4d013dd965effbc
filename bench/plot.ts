// Plots of the figures as SVG: one bar per series at its median, with a whisker from minimum to maximum.
import * as echarts from 'echarts';
import { formatted, type Measured } from './measure.ts';

/** A plot. Its file name is made of the stage's name and this name. */
export interface Plot {
  name: string;
  title: string;
  unit: string;
  bars: Measured[];
}

const WIDTH = 860;
const ROW_HEIGHT = 34;
const BAR = '#3b6ea5';
const WHISKER = '#1f2933';

/** Renders a plot as an SVG document. */
export function renderPlot({ title, unit, bars }: Plot): string {
  const chart = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH,
    height: 90 + ROW_HEIGHT * bars.length,
  });
  try {
    chart.setOption({
      animation: false,
      backgroundColor: '#ffffff',
      title: { text: title, left: 12, top: 8, textStyle: { fontSize: 15 } },
      grid: { left: 12, right: 90, top: 44, bottom: 30, containLabel: true },
      xAxis: { type: 'value', name: unit, nameLocation: 'middle', nameGap: 26, min: 0 },
      yAxis: { type: 'category', inverse: true, data: bars.map(({ name }) => name), axisTick: { show: false } },
      series: [
        {
          type: 'bar',
          data: bars.map(({ median }) => median),
          itemStyle: { color: BAR },
          barMaxWidth: 20,
        },
        {
          type: 'custom',
          data: bars.map(({ min, max }, row) => [row, min, max, row]),
          encode: { x: [1, 2], y: 0 },
          renderItem: (_params: unknown, api: echarts.CustomSeriesRenderItemAPI) => {
            const row = api.value(0) as number;
            const [from = [0, 0], to = [0, 0]] = [1, 2].map((place) => api.coord([api.value(place), row]));
            const [x1 = 0, y = 0] = from;
            const [x2 = 0] = to;
            const line = (shape: { x1: number; y1: number; x2: number; y2: number }) =>
              ({ type: 'line', shape, style: { stroke: WHISKER, lineWidth: 1.5 } }) as const;
            return {
              type: 'group',
              children: [
                line({ x1, y1: y, x2, y2: y }),
                line({ x1, y1: y - 5, x2: x1, y2: y + 5 }),
                line({ x1: x2, y1: y - 5, x2, y2: y + 5 }),
                {
                  type: 'text',
                  x: x2 + 8,
                  y: y - 6,
                  style: { text: formatted(bars[row]?.median ?? Number.NaN), fontSize: 12, fill: WHISKER },
                },
              ],
            };
          },
        },
      ],
    });
    return chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
}
